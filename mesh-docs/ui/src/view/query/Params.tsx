// The values of the query's parameters, and the button that makes a value a parameter. `SPEC §19`

import { isList } from "../../query/filter";
import type { Parameter } from "../../query/params";
import { parameters, paramTexts } from "../../state";
import { Choice } from "../parts/controls";

/** A switch between a value in the query and a parameter in its place. */
export function ParamButton({ isOn, act }: { isOn: boolean; act: (isOn: boolean) => void }) {
  const title = isOn ? "Write the value into the query" : "Make the value a parameter";
  return (
    <button type="button" class="quiet square" aria-label="Parameter" aria-pressed={isOn} title={title} onClick={() => act(!isOn)}>
      $
    </button>
  );
}

/** A field for the value of each parameter. */
export function Params() {
  if (parameters.value.length === 0) return null;
  return (
    <fieldset class="control params-form" data-testid="params">
      <legend class="faint">Params</legend>
      <div class="param-list">
        {parameters.value.map((one) => (
          <ParamField key={one.name} parameter={one} />
        ))}
      </div>
    </fieldset>
  );
}

function ParamField({ parameter: { name, type, op } }: { parameter: Parameter }) {
  const text = paramTexts.value[name];
  const set = (value: string): void => {
    paramTexts.value = { ...paramTexts.value, [name]: value };
  };
  const hint = isList(op) ? "one, two, three" : type === "cursor" ? "none: the first page" : (type ?? "value");
  return (
    <label class="param-field row">
      <code class="ellipsis relate">{name}</code>
      {type === "boolean" && !isList(op) ? (
        <Choice label={`Value of ${name}`} value={text ?? ""} options={["true", "false"]} choose={set} />
      ) : (
        <input aria-label={`Value of ${name}`} placeholder={hint} spellcheck={false} value={text ?? ""} onInput={(event) => set(event.currentTarget.value)} />
      )}
    </label>
  );
}
