// Group keys and aggregates for forms, and the selection that they permit.

import { starterFields, type Entity } from "../schema";
import { changeNode } from "./edit";
import { freeName, isObject, NO_SPAN, type Node, type Query, type Value } from "./tree";

export interface Aggregate {
  alias: string;
  fn: string;
  /** Empty if rows are counted. */
  field: string;
  distinct: boolean;
}

/** A group key that is a period of time. `SPEC §21` */
export interface Bucket {
  field: string;
  by: string;
  as: string;
  /** Empty for UTC. */
  zone: string;
}

/** The lengths of periods; the first ones are of whole days. */
export const UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute"];
const DAY_UNITS = UNITS.slice(0, 5);

export interface Grouping {
  keys: string[];
  buckets: Bucket[];
  aggregates: Aggregate[];
}

export function readGrouping(node: Node): Grouping {
  const groupBy = node.controls["$groupBy"];
  const keys = Array.isArray(groupBy) ? groupBy : [];
  const aggregates = node.controls["$aggregate"];
  return {
    keys: keys.filter((key): key is string => typeof key === "string"),
    buckets: keys.filter(isObject).map(readBucket),
    aggregates: isObject(aggregates) ? Object.entries(aggregates).map(([alias, value]) => readAggregate(alias, value)) : [],
  };
}

function readBucket({ field, by, as, zone }: { [key: string]: Value }): Bucket {
  const text = (value: Value | undefined): string => (typeof value === "string" ? value : "");
  return { field: text(field), by: text(by), as: text(as), zone: text(zone) };
}

/** Returns the names of the group keys in results. */
export function keyNames({ keys, buckets }: Grouping): string[] {
  return [...keys, ...buckets.map((bucket) => bucket.as)];
}

/** Returns the periods that a type of field can be grouped by. */
export function unitsFor(type: string | undefined): string[] {
  return type === "date" ? DAY_UNITS : UNITS;
}

/** Whether the periods of a bucket can begin in a time zone. */
export function takesZone({ by }: Bucket, type: string | undefined): boolean {
  return type === "datetime" && DAY_UNITS.includes(by);
}

/** Returns a changed bucket that suits the type of its field. A generated name follows the change. */
export function changeBucket(old: Bucket, change: Partial<Bucket>, type: string | undefined, taken: readonly string[]): Bucket {
  const next = { ...old, ...change };
  if (!unitsFor(type).includes(next.by)) next.by = "day";
  if (!takesZone(next, type)) next.zone = "";
  const isGenerated = old.as.replace(/\d+$/, "") === old.by;
  return isGenerated && change.as === undefined ? { ...next, as: freeName(next.by, taken) } : next;
}

function readAggregate(alias: string, value: Value): Aggregate {
  const { fn, field, distinct } = isObject(value) ? value : {};
  return { alias, fn: typeof fn === "string" ? fn : "count", field: typeof field === "string" && field !== "*" ? field : "", distinct: distinct === true };
}

/** Whether a relation is read as one object of aggregates, which has no order and no pages. `SPEC §14.5` */
export function isOneObject(grouping: Grouping): boolean {
  return keyNames(grouping).length === 0 && grouping.aggregates.length > 0;
}

/**
 * Returns the query with a grouping of the node at a path. A grouped read selects its keys only, and is ordered by keys and
 * aggregates. Without a grouping it selects the fields of a new query. A relation has groups only with aggregates.
 */
export function writeGrouping(query: Query, refs: readonly string[], entity: Entity, grouping: Grouping): Query {
  return changeNode(query, refs, (node) => grouped(node, entity, grouping, refs.length > 0));
}

function grouped(node: Node, entity: Entity, wanted: Grouping, isRelation: boolean): Node {
  const { aggregates } = wanted;
  const grouping = isRelation && aggregates.length === 0 ? { keys: [], buckets: [], aggregates } : wanted;
  const { keys, buckets } = grouping;
  const controls = { ...node.controls };
  if (isRelation && isOneObject(grouping)) for (const control of ["$orderBy", "$page", "$having"]) delete controls[control];
  for (const control of ["$groupBy", "$aggregate", "$distinct"]) delete controls[control];
  const shown = keyNames(grouping);
  if (shown.length > 0) controls["$groupBy"] = [...keys, ...buckets.map(({ zone, ...bucket }) => (zone === "" ? bucket : { ...bucket, zone }))];
  if (aggregates.length > 0) {
    controls["$aggregate"] = Object.fromEntries(
      aggregates.map(({ alias, fn, field, distinct }): [string, Value] => [alias, { fn, ...(field ? { field } : {}), ...(distinct ? { distinct } : {}) }]),
    );
  } else delete controls["$having"];
  const isGrouped = shown.length > 0 || aggregates.length > 0;
  const names = new Set([...shown, ...aggregates.map((one) => one.alias)]);
  const order = controls["$orderBy"];
  if (Array.isArray(order)) {
    const remaining = order.filter((one) => {
      const { field, aggregate, relation, search } = one as { field?: string; aggregate?: string; relation?: string; search?: string };
      return isGrouped ? relation === undefined && names.has(field ?? aggregate ?? "") : (field ?? relation ?? search) !== undefined;
    });
    if (remaining.length > 0) controls["$orderBy"] = remaining;
    else delete controls["$orderBy"];
  }
  const select = isGrouped ? shown : starterFields(entity);
  return { ...node, controls, select: select.map((name) => ({ name, span: NO_SPAN })) };
}

/** Returns an unused name for an aggregate. */
export function freeAlias(fn: string, field: string, taken: readonly string[]): string {
  return freeName(field === "" ? fn : fn + field.charAt(0).toUpperCase() + field.slice(1), taken);
}
