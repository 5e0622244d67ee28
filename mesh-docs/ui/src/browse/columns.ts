// The columns of the data browser: fields, and relations.

import { entityOf, firstField, idFields, type Entity, type Field, type Relation, type Schema } from "../schema";
import { freeName } from "../query/tree";

/** A field. A foreign key leads to the record of a relation. */
export interface FieldColumn {
  kind: "field";
  name: string;
  type: string | undefined;
  link?: Relation | undefined;
}
/** A relation to one record, shown by its most descriptive field. */
export interface OneColumn {
  kind: "one";
  name: string;
  relation: Relation;
}
/** A relation to many records, shown by their number. */
export interface ManyColumn {
  kind: "many";
  name: string;
  relation: Relation;
  /** The name of the number in the result. */
  alias: string;
}
export type BrowseColumn = FieldColumn | OneColumn | ManyColumn;

/** Whether a field is named like the key of a relation: `authorId` and `author`. */
function isKeyOf(relation: Relation, { name }: Field): boolean {
  return relation.type === "one" && name.replaceAll("_", "").toLowerCase() === `${relation.name.replaceAll("_", "").toLowerCase()}id`;
}

/** Returns all columns of an entity: fields first, then the relations that no field leads to. */
export function allColumns(schema: Schema, entity: Entity): BrowseColumn[] {
  const members = [...entity.fields, ...entity.joins].map(({ name }) => name);
  const isLinkable = ({ entity: target }: Relation): boolean => idFields(entityOf(schema, target)).length > 0;
  const ones = entity.joins.filter((join) => join.type === "one" && isLinkable(join));
  const keys = new Map(entity.fields.map((field) => [field.name, ones.find((join) => isKeyOf(join, field))]));
  const linked = new Set([...keys.values()].map((join) => join?.name));
  const hasCounts = schema.profiles?.includes("relational") ?? false;
  const manies = hasCounts ? entity.joins.filter(({ type }) => type === "many") : [];
  return [
    ...entity.fields.map(({ name, type }): FieldColumn => ({ kind: "field", name, type, link: keys.get(name) })),
    ...ones.filter(({ name }) => !linked.has(name)).map((relation): OneColumn => ({ kind: "one", name: relation.name, relation })),
    ...manies.map((relation): ManyColumn => ({ kind: "many", name: relation.name, relation, alias: freeName(`${relation.name}Count`, members) })),
  ];
}

/** The most columns that count the records of a relation, if the reader has not chosen others. */
const COUNTS_MAX = 3;

/** Returns the names of the columns that are shown first: those that are read fast. */
export function firstColumns(schema: Schema, entity: Entity): string[] {
  const all = allColumns(schema, entity);
  const manies = all.filter(({ kind }) => kind === "many").slice(0, COUNTS_MAX);
  return all.filter((one) => (one.kind === "many" ? manies.includes(one) : one.kind === "one" || one.type !== "binary")).map(({ name }) => name);
}

/** Returns the field that describes a related record. */
export function labelOf(schema: Schema, relation: Relation): string {
  return firstField(entityOf(schema, relation.entity)) ?? "";
}

/** Returns the path that rows are ordered and filtered by in a column; `undefined` if they cannot be. */
export function pathOf(schema: Schema, column: BrowseColumn): string | undefined {
  if (column.kind === "many") return undefined;
  if (column.kind === "one") return `${column.name}.${labelOf(schema, column.relation)}`;
  return column.type === undefined || column.type === "json" || column.type === "binary" ? undefined : column.name;
}
