// The types of the members of a result, from the query and the schema.

import { fieldOf, type Schema } from "../schema";
import { readGrouping } from "./group";
import { entityOfNode } from "./resolve";
import { nodeAt, type Query } from "./tree";

/** Returns the type of a member of the records that the node at a path reads; `undefined` if it is no scalar or unknown. */
export function memberType(schema: Schema, query: Query, refs: readonly string[], name: string): string | undefined {
  const node = nodeAt(query, refs);
  const entity = entityOfNode(schema, query, refs);
  if (!node || !entity) return undefined;
  const aggregate = readGrouping(node).aggregates.find(({ alias }) => alias === name);
  if (aggregate?.fn === "count") return "integer";
  if (aggregate?.fn === "avg") return "number";
  const of = aggregate?.field ?? node.select.find((one) => one.name === name)?.of ?? name;
  return fieldOf(schema, entity.name, of)?.type;
}


/** Whether values of a type are aligned at their right. */
export function isNumeric(type: string | undefined): boolean {
  return type !== undefined && ["integer", "bigint", "number", "decimal"].includes(type);
}
