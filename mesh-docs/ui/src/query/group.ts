// Group keys and aggregates for forms, and the selection that they permit.

import { starterFields, type Entity } from "../schema";
import { isObject, NO_SPAN, type Node, type Query, type Value } from "./tree";

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

/**
 * Returns the query with a grouping. A grouped read selects its keys only, and is ordered by keys and aggregates. Without
 * a grouping it selects the fields of a new query.
 */
export function writeGrouping(query: Query, entity: Entity, { keys, aggregates }: Grouping): Query {
  const controls = { ...query.root.controls };
  for (const control of ["$groupBy", "$aggregate", "$distinct"]) delete controls[control];
  if (keys.length > 0) controls["$groupBy"] = keys;
  if (aggregates.length > 0) {
    controls["$aggregate"] = Object.fromEntries(
      aggregates.map(({ alias, fn, field, distinct }): [string, Value] => [alias, { fn, ...(field ? { field } : {}), ...(distinct ? { distinct } : {}) }]),
    );
  } else delete controls["$having"];
  const grouped = keys.length > 0 || aggregates.length > 0;
  const names = new Set([...keys, ...aggregates.map((one) => one.alias)]);
  const order = controls["$orderBy"];
  if (Array.isArray(order)) {
    const remaining = order.filter((one) => {
      const { field, aggregate } = one as { field?: string; aggregate?: string };
      return grouped ? names.has(field ?? aggregate ?? "") : field !== undefined;
    });
    if (remaining.length > 0) controls["$orderBy"] = remaining;
    else delete controls["$orderBy"];
  }
  const select = grouped ? keys : starterFields(entity);
  return { ...query, root: { ...query.root, controls, select: select.map((name) => ({ name, span: NO_SPAN })) } };
}

/** Returns an unused name for an aggregate. */
export function freeAlias(fn: string, field: string, taken: readonly string[]): string {
  const base = field === "" ? fn : fn + field.charAt(0).toUpperCase() + field.slice(1);
  let alias = base;
  for (let n = 2; taken.includes(alias); n += 1) alias = base + n;
  return alias;
}
