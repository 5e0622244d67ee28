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

export interface Grouping {
  keys: string[];
  aggregates: Aggregate[];
}

export function readGrouping(node: Node): Grouping {
  const keys = node.controls["$groupBy"];
  const aggregates = node.controls["$aggregate"];
  return {
    keys: Array.isArray(keys) ? keys.filter((key): key is string => typeof key === "string") : [],
    aggregates: isObject(aggregates) ? Object.entries(aggregates).map(([alias, value]) => readAggregate(alias, value)) : [],
  };
}

function readAggregate(alias: string, value: Value): Aggregate {
  const { fn, field, distinct } = isObject(value) ? value : {};
  return { alias, fn: typeof fn === "string" ? fn : "count", field: typeof field === "string" && field !== "*" ? field : "", distinct: distinct === true };
}

/** Whether a relation is read as one object of aggregates, which has no order and no pages. `SPEC §14.5` */
export function isOneObject({ keys, aggregates }: Grouping): boolean {
  return keys.length === 0 && aggregates.length > 0;
}

/**
 * Returns the query with a grouping of the node at a path. A grouped read selects its keys only, and is ordered by keys and
 * aggregates. Without a grouping it selects the fields of a new query. A relation has groups only with aggregates.
 */
export function writeGrouping(query: Query, refs: readonly string[], entity: Entity, grouping: Grouping): Query {
  return changeNode(query, refs, (node) => grouped(node, entity, grouping, refs.length > 0));
}

function grouped(node: Node, entity: Entity, { keys: wanted, aggregates }: Grouping, isRelation: boolean): Node {
  const keys = isRelation && aggregates.length === 0 ? [] : wanted;
  const controls = { ...node.controls };
  // The form has no buckets, and keeps those of the query.
  const before = controls["$groupBy"];
  const buckets = Array.isArray(before) ? before.filter(isObject) : [];
  if (isRelation && isOneObject({ keys, aggregates })) for (const control of ["$orderBy", "$page", "$having"]) delete controls[control];
  for (const control of ["$groupBy", "$aggregate", "$distinct"]) delete controls[control];
  if (keys.length + buckets.length > 0) controls["$groupBy"] = [...keys, ...buckets];
  if (aggregates.length > 0) {
    controls["$aggregate"] = Object.fromEntries(
      aggregates.map(({ alias, fn, field, distinct }): [string, Value] => [alias, { fn, ...(field ? { field } : {}), ...(distinct ? { distinct } : {}) }]),
    );
  } else delete controls["$having"];
  const isGrouped = keys.length + buckets.length > 0 || aggregates.length > 0;
  const shown = [...keys, ...buckets.map((bucket) => String(bucket["as"]))];
  const names = new Set([...shown, ...aggregates.map((one) => one.alias)]);
  const order = controls["$orderBy"];
  if (Array.isArray(order)) {
    const remaining = order.filter((one) => {
      const { field, aggregate, relation } = one as { field?: string; aggregate?: string; relation?: string };
      return isGrouped ? relation === undefined && names.has(field ?? aggregate ?? "") : field !== undefined || relation !== undefined;
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
