// The form for `$page`.

import { isObject, type Value } from "../../query/tree";

interface Props {
  isRoot: boolean;
  bounds: { defaultFirst: number; maxFirst: number };
  value: Value | undefined;
  set: (value: Value | undefined) => void;
}

export function PageForm({ value, isRoot, bounds, set }: Props) {
  const { first, ...rest } = isObject(value) ? value : {};
  const write = (text: string): void => {
    const number = Number.parseInt(text, 10);
    if (!Number.isNaN(number)) set({ ...rest, first: Math.min(Math.max(1, number), bounds.maxFirst) });
    else set(Object.keys(rest).length > 0 ? rest : undefined);
  };
  return (
    <fieldset class="control">
      <legend class="faint">Page</legend>
      <label class="inline">
        first
        <input
          type="number"
          class="first"
          data-testid="first"
          min={1}
          max={bounds.maxFirst}
          placeholder={isRoot ? String(bounds.defaultFirst) : "all"}
          value={typeof first === "number" ? first : ""}
          onChange={(event) => write(event.currentTarget.value)}
        />
      </label>
      {typeof rest["after"] === "string" && (
        <button type="button" class="add" onClick={() => set(typeof first === "number" ? { first } : undefined)}>
          Back to the first page
        </button>
      )}
    </fieldset>
  );
}
