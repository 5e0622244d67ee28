// The form for `$groupBy` and `$aggregate`.

import { changeBucket, freeAlias, keyNames, readGrouping, takesZone, unitsFor, writeGrouping, type Aggregate, type Bucket, type Grouping } from "../../query/group";
import { freeName, nodeAt, type Query } from "../../query/tree";
import { scalars, type Entity, type Field } from "../../schema";
import { change } from "../../state";
import { AddButton, Choice, IconButton } from "../parts/controls";
import { Close } from "../parts/icons";
import { newName } from "./AliasForm";

interface Props {
  query: Query;
  /** The path of the node that is grouped. */
  refs: string[];
  entity: Entity;
  functions: string[];
}

export function GroupForm({ query, refs, entity, functions }: Props) {
  const grouping = readGrouping(nodeAt(query, refs) ?? query.root);
  const { keys, buckets, aggregates } = grouping;
  const fields = scalars(entity);
  const set = (next: Partial<Grouping>): void => change((current) => writeGrouping(current, refs, entity, { ...grouping, ...next }));
  const times = fields.filter(({ type }) => type === "datetime" || type === "date");
  const [time] = times;
  const taken = [...[...entity.fields, ...entity.joins].map(({ name }) => name), ...aggregates.map(({ alias }) => alias), ...buckets.map((bucket) => bucket.as)];
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
      {(aggregates.length > 0 || keyNames(grouping).length > 0) && (
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
              names={{ "": keyNames(grouping).length === 0 ? "nothing: one group" : "and by" }}
              choose={(key) => set({ keys: [...keys, key] })}
            />
          )}
        </div>
      )}
      {buckets.map((bucket, index) => (
        <BucketRow
          key={index}
          bucket={bucket}
          fields={times}
          taken={taken.filter((name) => name !== bucket.as)}
          set={(next) => set({ buckets: next ? buckets.with(index, next) : buckets.toSpliced(index, 1) })}
        />
      ))}
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
        {/* Groups of a relation need aggregates. */}
        {time && (refs.length === 0 || aggregates.length > 0) && (
          <AddButton testId="add-bucket" act={() => set({ buckets: [...buckets, { field: time.name, by: "month", as: freeName("month", taken), zone: "" }] })}>
            Period of time
          </AddButton>
        )}
      </span>
    </fieldset>
  );
}

interface BucketProps {
  bucket: Bucket;
  fields: Field[];
  taken: string[];
  set: (next: Bucket | undefined) => void;
}

/** A period of time that is a group key. */
function BucketRow({ bucket, fields, taken, set }: BucketProps) {
  const typeOf = (name: string): string | undefined => fields.find((field) => field.name === name)?.type;
  const change = (next: Partial<Bucket>): void => set(changeBucket(bucket, next, typeOf(next.field ?? bucket.field), taken));
  const rename = (input: HTMLInputElement): void => {
    const as = newName(input, bucket.as, taken);
    if (as !== undefined) change({ as });
  };
  return (
    <div class="order alias bucket row wrap">
      <Choice label="Period" value={bucket.by} options={unitsFor(typeOf(bucket.field))} choose={(by) => change({ by })} />
      <span class="inline">of</span>
      <Choice label="Field with times" value={bucket.field} options={fields.map(({ name }) => name)} choose={(field) => change({ field })} />
      {takesZone(bucket, typeOf(bucket.field)) && (
        <input
          aria-label="Time zone"
          placeholder="UTC"
          title="A time zone such as Europe/Berlin"
          spellcheck={false}
          value={bucket.zone}
          onChange={(event) => change({ zone: event.currentTarget.value.trim() })}
        />
      )}
      <span class="inline">as</span>
      <input aria-label="Name of the period" spellcheck={false} value={bucket.as} onChange={(event) => rename(event.currentTarget)} />
      <IconButton label={`Do not group by ${bucket.as}`} act={() => set(undefined)}>
        <Close />
      </IconButton>
    </div>
  );
}

/** Whether a function accepts fields of a type. `SPEC §3.12` */
export function accepts(fn: string, type: string | undefined): boolean {
  if (fn === "count" || type === undefined) return true;
  if (fn === "sum" || fn === "avg") return ["integer", "bigint", "number", "decimal"].includes(type);
  return !["json", "binary", "boolean"].includes(type);
}
