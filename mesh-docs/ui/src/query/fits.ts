// Whether a stored query belongs to a schema.

import { entityOf, fieldOf, relationOf, type Schema } from "../schema";
import { readQuery } from "./read";
import type { Format, Node } from "./tree";

/** Returns a key that tells apart the schemas of different databases. */
export function keyOf(schema: Schema): string {
  const names = schema.entities.map(({ name }) => name).sort();
  let hash = 5381;
  for (const char of names.join("\n")) hash = (hash * 33 + (char.codePointAt(0) ?? 0)) | 0;
  return (hash >>> 0).toString(36);
}

/** Whether a schema has the entity of a query and all that it selects. An invalid text belongs to the schema with its key. */
export function fits(schema: Schema, saved: { query: string; format: Format; schema?: string }): boolean {
  const tree = readQuery(saved.format, saved.query);
  if (!tree || saved.schema === keyOf(schema)) return saved.schema === keyOf(schema);
  return entityOf(schema, tree.entity) !== undefined && hasAll(schema, tree.entity, tree.root);
}

function hasAll(schema: Schema, entity: string, { select }: Node): boolean {
  return select.every(({ name, of = name, node }) => {
    if (!node) return fieldOf(schema, entity, of) !== undefined;
    const relation = relationOf(schema, entity, of);
    return relation !== undefined && hasAll(schema, relation.entity, node);
  });
}
