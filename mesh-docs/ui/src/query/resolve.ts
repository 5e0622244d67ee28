// The entities and relations that the nodes of a query read.

import { entityOf, relationOf, type Entity, type Relation, type Schema } from "../schema";
import type { Query } from "./tree";

/** Returns the relation that the node at a path reads; `undefined` for the root and unknown names. */
export function relationAt(schema: Schema, query: Query, refs: readonly string[]): Relation | undefined {
  let entity: string | undefined = query.entity;
  let node = query.root;
  let relation: Relation | undefined;
  for (const ref of refs) {
    const selected = node.select.find((one) => one.name === ref);
    relation = relationOf(schema, entity, selected?.of ?? ref);
    if (!relation) return undefined;
    entity = relation.entity;
    if (selected?.node) node = selected.node;
  }
  return relation;
}

/** Returns the entity of the node at a path. */
export function entityOfNode(schema: Schema, query: Query, refs: readonly string[]): Entity | undefined {
  return entityOf(schema, refs.length === 0 ? query.entity : relationAt(schema, query, refs)?.entity);
}
