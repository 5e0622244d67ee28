// The form of one field, with what is wrong with it.

import { useId } from "preact/hooks";
import { isNumeric } from "../../query/types";
import { entityOf, fieldTitle, typeText, type Field, type Relation } from "../../schema";
import { schema } from "../../state";
import type { Input } from "../../write/body";
import { RecordSearch } from "./RecordSearch";

interface Props {
  field: Field;
  /** `undefined` if the write leaves the field out. */
  input: Input | undefined;
  fault: string | undefined;
  /** The relation whose key the field is. */
  link: Relation | undefined;
  hasFocus: boolean;
  change: (input: Input) => void;
}

/** Longer texts are edited in several lines. */
const LINE_MAX = 60;

export function FieldInput({ field, input, fault, link, hasFocus, change }: Props) {
  const id = useId();
  const { name, type, description } = field;
  const about = [...(description === undefined ? [] : [`${id}-about`]), ...(fault === undefined ? [] : [`${id}-fault`])];
  const target = link && schema.value ? entityOf(schema.value, link.entity) : undefined;
  const shared = {
    id,
    "data-field": name,
    "data-focus": hasFocus || undefined,
    "aria-invalid": fault !== undefined,
    "aria-describedby": about.join(" ") || undefined,
    placeholder: input === null ? "null" : undefined,
  };
  const text = input ?? "";
  const isLong = type === "json" || text.length > LINE_MAX || text.includes("\n");
  return (
    <div class="field-input" title={fieldTitle(field)}>
      <label class="ellipsis" for={id}>
        {name} <span class="faint">{typeText(field)}</span>
      </label>
      <div class="field-control row">
        {type === "boolean" ? (
          <select {...shared} value={text} onChange={({ currentTarget }) => change(currentTarget.value === "" ? null : currentTarget.value)}>
            {["", "true", "false"].map((option) => (
              <option key={option} value={option}>
                {option === "" ? (input === null ? "null" : "") : option}
              </option>
            ))}
          </select>
        ) : isLong ? (
          <textarea {...shared} class="grow" rows={4} spellcheck={type !== "json"} value={text} onInput={({ currentTarget }) => change(currentTarget.value)} />
        ) : (
          <input {...shared} class="grow" inputMode={isNumeric(type) ? "decimal" : undefined} autocomplete="off" value={text} onInput={({ currentTarget }) => change(currentTarget.value)} />
        )}
        {target && <RecordSearch entity={target} label={`Search ${link?.name}`} choose={change} />}
        <button type="button" class="quiet small" aria-pressed={input === null} aria-label={`${name} is null`} onClick={() => change(input === null ? "" : null)}>
          null
        </button>
      </div>
      {description !== undefined && (
        <p class="field-about hint" id={`${id}-about`}>
          {description}
        </p>
      )}
      {fault !== undefined && (
        <p class="field-fault bad" id={`${id}-fault`}>
          {fault}
        </p>
      )}
    </div>
  );
}
