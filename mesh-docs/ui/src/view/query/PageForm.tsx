// The form for `$page`: the first or last records, the skipped ones, and their total.

import { freeName, isObject, paramName, type Value } from "../../query/tree";
import { parameters } from "../../state";
import { Choice } from "../parts/controls";
import { ParamButton } from "./Params";

interface Props {
  isRoot: boolean;
  bounds: { defaultFirst: number; maxFirst: number };
  value: Value | undefined;
  set: (value: Value | undefined) => void;
}

export function PageForm({ value, isRoot, bounds, set }: Props) {
  const page = isObject(value) ? value : {};
  const end = page["last"] === undefined ? "first" : "last";
  const [size, cursor] = end === "first" ? [page["first"], page["after"]] : [page["last"], page["before"]];
  const total: { [key: string]: Value } = page["total"] === true ? { total: true } : {};
  const param = paramName(size);
  /** Writes the page without its cursor, which belongs to the other end or another size. */
  const write = (next: { [key: string]: Value }): void => set(Object.keys(next).length > 0 ? next : undefined);
  const setSize = (text: string): void => {
    const { first: _, last: __, ...rest } = page;
    const number = Number.parseInt(text, 10);
    // `before` requires `last`.
    if (Number.isNaN(number)) write(end === "last" ? total : rest);
    else write({ [end]: Math.min(Math.max(1, number), bounds.maxFirst), ...rest });
  };
  const skip = page["skip"];
  const setSkip = (text: string): void => {
    const { skip: _, after: __, ...rest } = page;
    const number = Number.parseInt(text, 10);
    write(number > 0 ? { ...rest, skip: number } : rest);
  };
  return (
    <fieldset class="control">
      <legend class="faint">Page</legend>
      <span class="adders row wrap">
        <Choice label="End of the list" value={end} options={["first", "last"]} choose={(next) => write({ [next]: size ?? bounds.defaultFirst, ...total })} />
        {param !== undefined ? (
          <code>${param}</code>
        ) : (
          <input
            type="number"
            class="first"
            aria-label="Size of the page"
            data-testid="first"
            min={1}
            max={bounds.maxFirst}
            placeholder={isRoot ? String(bounds.defaultFirst) : "all"}
            value={typeof size === "number" ? size : ""}
            onChange={(event) => setSize(event.currentTarget.value)}
          />
        )}
        <ParamButton
          isOn={param !== undefined}
          act={(isOn) => {
            const name = freeName(end, parameters.value.map((one) => one.name));
            set({ ...page, [end]: isOn ? { $param: name } : bounds.defaultFirst });
          }}
        />
        {end === "first" && typeof cursor !== "string" && (
          <label class="inline">
            skip
            {paramName(skip) !== undefined ? (
              <code>${paramName(skip)}</code>
            ) : (
              <input type="number" class="first" data-testid="skip" min={0} placeholder="0" value={typeof skip === "number" ? skip : ""} onChange={(event) => setSkip(event.currentTarget.value)} />
            )}
          </label>
        )}
        {isRoot && (
          <label class="inline">
            <input
              type="checkbox"
              data-testid="total"
              checked={page["total"] === true}
              onChange={(event) => {
                const { total: _, ...rest } = page;
                write(event.currentTarget.checked ? { ...rest, total: true } : rest);
              }}
            />
            total
          </label>
        )}
        {typeof cursor === "string" && (
          <button type="button" class="add" onClick={() => write({ ...(size !== undefined && { [end]: size }), ...total })}>
            Back to the {end} page
          </button>
        )}
      </span>
    </fieldset>
  );
}
