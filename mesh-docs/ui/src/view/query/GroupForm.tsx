// Forms for group keys and aggregates.

import { freeAlias, readGrouping, writeGrouping, type Aggregate, type Grouping } from "../../query/group";
import type { Query } from "../../query/tree";
import type { Entity } from "../../schema";
import { change } from "../../state";
import { Close, Plus } from "../parts/icons";

export function GroupForm({ query, entity, functions }: { query: Query; entity: Entity; functions: string[] }) {
  const grouping = readGrouping(query.root);
  const { keys, aggregates } = grouping;
  const fields = entity.fields.filter((one) => one.kind === "scalar");
  const set = (next: Partial<Grouping>): void => change((current) => writeGrouping(current, entity, { ...grouping, ...next }));
  const taken = [...fields.map((one) => one.name), ...aggregates.map((one) => one.alias)];
  const setOne = (index: number, next: Partial<Aggregate>): void => {
    const all = aggregates.map((one, at) => (at === index ? named({ ...one, ...next }, taken.filter((name) => name !== one.alias), one) : one));
    set({ aggregates: all });
  };
  const free = fields.filter((one) => !keys.includes(one.name));
  return (
    <fieldset class="control">
      <legend>Group</legend>
      {(aggregates.length > 0 || keys.length > 0) && (
        <div class="group-keys">
          <span class="inline">by</span>
          {keys.map((key) => (
            <span class="chip" key={key}>
              {key}
              <button type="button" class="quiet" aria-label={`Do not group by ${key}`} onClick={() => set({ keys: keys.filter((one) => one !== key) })}>
                <Close />
              </button>
            </span>
          ))}
          {free.length > 0 && (
            <select aria-label="Group by another field" data-testid="group-by" value="" onChange={(event) => set({ keys: [...keys, event.currentTarget.value] })}>
              <option value="">{keys.length === 0 ? "nothing: one group" : "and by"}</option>
              {free.map((one) => (
                <option key={one.name}>{one.name}</option>
              ))}
            </select>
          )}
        </div>
      )}
      {aggregates.map((one, index) => (
        <div class="order" key={one.alias}>
          <select aria-label="Function" value={one.fn} onChange={(event) => setOne(index, { fn: event.currentTarget.value })}>
            {functions.map((fn) => (
              <option key={fn}>{fn}</option>
            ))}
          </select>
          <select aria-label="Aggregated field" value={one.field} onChange={(event) => setOne(index, { field: event.currentTarget.value })}>
            {one.fn === "count" && <option value="">rows</option>}
            {fields.filter((field) => suits(one.fn, field.type)).map((field) => (
              <option key={field.name}>{field.name}</option>
            ))}
          </select>
          <span class="inline">as {one.alias}</span>
          <button type="button" class="quiet square" aria-label={`Remove ${one.alias}`} onClick={() => set({ aggregates: aggregates.filter((_, at) => at !== index) })}>
            <Close />
          </button>
        </div>
      ))}
      <span class="adders">
        <button type="button" class="add" data-testid="add-aggregate" onClick={() => set({ aggregates: [...aggregates, { alias: freeAlias("count", "", taken), fn: "count", field: "", distinct: false }] })}>
          <Plus /> {aggregates.length === 0 ? "Count or sum" : "Another"}
        </button>
      </span>
    </fieldset>
  );

  /** The aggregate over a field that its function can take, and named after both unless it was named by hand. */
  function named(next: Aggregate, others: string[], before: Aggregate): Aggregate {
    const fits = fields.filter((field) => suits(next.fn, field.type)).map((field) => field.name);
    const field = next.field === "" && next.fn === "count" ? "" : fits.includes(next.field) ? next.field : (fits[0] ?? next.field);
    const own = freeAlias(before.fn, before.field, []);
    const alias = before.alias.replace(/\d+$/, "") === own ? freeAlias(next.fn, field, others) : before.alias;
    return { ...next, field, alias };
  }
}

/** Which functions a type takes. `SPEC §3.12` */
function suits(fn: string, type: string | undefined): boolean {
  if (fn === "count" || type === undefined) return true;
  if (fn === "sum" || fn === "avg") return ["integer", "bigint", "number", "decimal"].includes(type);
  return !["json", "binary", "boolean"].includes(type);
}
