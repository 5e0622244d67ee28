// A condition on a field, on one of a related record, or on a place in a JSON value.

import { useState } from "preact/hooks";
import { asPointer, convert, isList, isNullTest, operatorsFor, parseValue, PLACE, showValue, type Condition, type Filter } from "../../query/filter";
import { freeName, paramName } from "../../query/tree";
import { fieldAt, pathFields, type Entity } from "../../schema";
import { parameters, schema } from "../../state";
import { Choice, IconButton } from "../parts/controls";
import { Close } from "../parts/icons";
import { ParamButton } from "./Params";

interface Props {
  filter: Condition;
  entity: Entity;
  operators: string[];
  /** Whether parameters cannot stand in place of values. */
  isLiteral?: boolean;
  change: (next: Filter | undefined) => void;
}

export function ConditionRow({ filter, entity, operators, isLiteral = false, change }: Props) {
  const known = schema.value;
  const fields = known ? pathFields(known, entity, filter.field).map(({ path }) => path) : [];
  const typeOf = (field: string): string | undefined => (known ? fieldAt(known, entity.name, field)?.type : undefined);
  const isJson = typeOf(filter.field) === "json";
  const type = filter.at === undefined ? typeOf(filter.field) : PLACE;
  const set = (next: Condition): void => change(isNullTest(next.op) ? { ...next, value: undefined } : next);
  /** Changes field or place, with an operator and a value that suit the new type. */
  const setSubject = (field: string, at: string | undefined): void => {
    const next = at === undefined ? typeOf(field) : PLACE;
    const allowed = operatorsFor(next, operators);
    const op = allowed.includes(filter.op) ? filter.op : (allowed[0] ?? "eq");
    set({ ...filter, field, at, op, value: convert(filter.value, type, next, op) });
  };
  const setOperator = (op: string): void => set({ ...filter, op, value: convert(filter.value, type, type, op) });
  return (
    <div class="condition row wrap">
      <Choice label="Field" value={filter.field} options={fields} choose={(field) => setSubject(field, undefined)} />
      {(isJson || filter.at !== undefined) && (
        <input
          class="place"
          aria-label="Place in the JSON value"
          placeholder="/place"
          spellcheck={false}
          value={filter.at ?? ""}
          onChange={({ currentTarget: { value } }) => setSubject(filter.field, value === "" ? undefined : asPointer(value))}
        />
      )}
      <Choice label="Operator" value={filter.op} options={operatorsFor(type, operators)} choose={setOperator} />
      <ConditionValue filter={filter} type={type} isLiteral={isLiteral} change={change} />
      <IconButton label="Remove the condition" act={() => change(undefined)}>
        <Close />
      </IconButton>
    </div>
  );
}

function ConditionValue({ filter, type, isLiteral, change }: { filter: Condition; type: string | undefined; isLiteral: boolean; change: (next: Filter) => void }) {
  if (isNullTest(filter.op)) return <span class="value" />;
  const param = paramName(filter.value);
  const wanted = filter.field.split(".").at(-1) ?? "";
  return (
    <>
      {param !== undefined ? (
        <code class="value ellipsis">${param}</code>
      ) : type === "boolean" ? (
        <Choice label="Value" class="value" value={String(filter.value)} options={["true", "false"]} choose={(value) => change({ ...filter, value: value === "true" })} />
      ) : (
        <ValueInput filter={filter} type={type} change={change} />
      )}
      {!isLiteral && (
        <ParamButton
          isOn={param !== undefined}
          act={(isOn) => {
            const name = freeName(/^[A-Za-z_]\w{0,60}$/.test(wanted) ? wanted : "value", parameters.value.map((one) => one.name));
            change({ ...filter, value: isOn ? { $param: name } : convert(undefined, type, type, filter.op) });
          }}
        />
      )}
    </>
  );
}

function ValueInput({ filter, type, change }: { filter: Condition; type: string | undefined; change: (next: Filter) => void }) {
  // The text as typed, which may differ from the text of the value, such as `1.` from `1`.
  const [typed, setTyped] = useState<string | null>(null);
  const hint = isList(filter.op) ? "one, two, three" : filter.op === "like" || filter.op === "ilike" ? "%part%" : type === PLACE || type === "json" ? "text, number, true" : (type ?? "value");
  const input = (text: string): void => {
    setTyped(text);
    change({ ...filter, value: parseValue(text, type, filter.op) });
  };
  return (
    <input
      class="value"
      aria-label="Value"
      placeholder={hint}
      spellcheck={false}
      value={typed ?? showValue(filter.value, type)}
      onInput={(event) => input(event.currentTarget.value)}
      onBlur={() => setTyped(null)}
    />
  );
}
