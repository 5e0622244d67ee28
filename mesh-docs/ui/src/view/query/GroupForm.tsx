// The form for `$groupBy` and `$aggregate`.

import { freeAlias, readGrouping, writeGrouping, type Aggregate, type Grouping } from "../../query/group";
import { nodeAt, type Query } from "../../query/tree";
import { scalars, type Entity } from "../../schema";
import { change } from "../../state";
import { AddButton, Choice, IconButton } from "../parts/controls";
import { Close } from "../parts/icons";

interface Props {
  query: Query;
  /** The path of the node that is grouped. */
  refs: string[];
  entity: Entity;
  functions: string[];
}

export function GroupForm({ query, refs, entity, functions }: Props) {
  const grouping = readGrouping(nodeAt(query, refs) ?? query.root);
  const { keys, aggregates } = grouping;
  const fields = scalars(entity);
  const set = (next: Partial<Grouping>): void => change((current) => writeGrouping(current, refs, entity, { ...grouping, ...next }));
  const taken = [...[...entity.fields, ...entity.joins].map(({ name }) => name), ...aggregates.map(({ alias }) => alias)];
  const fieldsFor = (fn: string): string[] => [...(fn === "count" ? [""] : []), ...fields.filter(({ type }) => accepts(fn, type)).map(({ name }) => name)];
  /** Replaces an aggregate by one over a field that its function accepts. A generated alias follows the change. */
  const replace = (index: number, old: Aggregate, next: Aggregate): void => {
    const allowed = fieldsFor(next.fn);
    const field = allowed.includes(next.field) ? next.field : (allowed[0] ?? next.field);
    const isGenerated = old.alias.replace(/\d+$/, "") === freeAlias(old.fn, old.field, []);
    const others = taken.filter((name) => name !== old.alias);
    const alias = isGenerated ? freeAlias(next.fn, field, others) : old.alias;
    set({ aggregates: aggregates.with(index, { ...next, field, alias }) });
  };
  const free = fields.map(({ name }) => name).filter((name) => !keys.includes(name));
  return (
    <fieldset class="control">
      <legend class="faint">Group</legend>
      {(aggregates.length > 0 || keys.length > 0) && (
        <div class="group-keys row wrap">
          <span class="inline">by</span>
          {keys.map((key) => (
            <span class="chip" key={key}>
              {key}
              <button type="button" class="quiet" aria-label={`Do not group by ${key}`} onClick={() => set({ keys: keys.filter((other) => other !== key) })}>
                <Close />
              </button>
            </span>
          ))}
          {free.length > 0 && (
            <Choice
              label="Group by another field"
              testId="group-by"
              value=""
              options={free}
              names={{ "": keys.length === 0 ? "nothing: one group" : "and by" }}
              choose={(key) => set({ keys: [...keys, key] })}
            />
          )}
        </div>
      )}
      {aggregates.map((one, index) => (
        <div class="order row" key={one.alias}>
          <Choice label="Function" value={one.fn} options={functions} choose={(fn) => replace(index, one, { ...one, fn })} />
          <Choice label="Aggregated field" value={one.field} options={fieldsFor(one.fn)} names={{ "": "rows" }} choose={(field) => replace(index, one, { ...one, field })} />
          <span class="inline">as {one.alias}</span>
          <IconButton label={`Remove ${one.alias}`} act={() => set({ aggregates: aggregates.toSpliced(index, 1) })}>
            <Close />
          </IconButton>
        </div>
      ))}
      <span class="adders row">
        <AddButton testId="add-aggregate" act={() => set({ aggregates: [...aggregates, { alias: freeAlias("count", "", taken), fn: "count", field: "", distinct: false }] })}>
          {aggregates.length === 0 ? "Count or sum" : "Another"}
        </AddButton>
      </span>
    </fieldset>
  );
}

/** Whether a function accepts fields of a type. `SPEC §3.12` */
export function accepts(fn: string, type: string | undefined): boolean {
  if (fn === "count" || type === undefined) return true;
  if (fn === "sum" || fn === "avg") return ["integer", "bigint", "number", "decimal"].includes(type);
  return !["json", "binary", "boolean"].includes(type);
}
