// The introspected schema, and lookups in it.

export interface Field {
  name: string;
  kind: "scalar" | "computed";
  type?: string;
  /** Whether its value can be null. */
  nullable?: boolean;
  description?: string;
}
export interface Relation {
  name: string;
  entity: string;
  type: "one" | "many";
  /** What the caller may write: `set` a to-one relation, `link` records of a many-to-many one, `create` and `delete` children. */
  writes?: ("set" | "link" | "create" | "delete")[];
}
export interface Entity {
  name: string;
  description?: string;
  fields: Field[];
  joins: Relation[];
  listCapable: boolean;
  idField: string | string[] | null;
  /** Whether its records can be searched. `SPEC §20` */
  search?: boolean;
  uploads?: { field: string; maxBytes?: number; contentTypes?: string[] }[];
  /** The fields that the caller may set in new records and change, and whether it may delete records. */
  writes?: { create: string[]; update: string[]; delete: boolean };
}
export interface Schema {
  title: string | null;
  profiles?: string[];
  query: {
    formats: string[];
    controls: string[];
    filterOperators: string[];
    aggregateFunctions: string[];
    pagination: { style: string; defaultFirst: number; maxFirst: number };
  };
  entities: Entity[];
  /** The roles that the caller can view the data as. */
  viewAs?: string[];
}

export function entityOf(schema: Schema, name: string | undefined): Entity | undefined {
  return schema.entities.find((one) => one.name === name);
}

export function relationOf(schema: Schema, entity: string | undefined, name: string): Relation | undefined {
  return entityOf(schema, entity)?.joins.find((one) => one.name === name);
}

export function fieldOf(schema: Schema, entity: string | undefined, name: string): Field | undefined {
  return entityOf(schema, entity)?.fields.find((one) => one.name === name);
}

/** Returns the type of a field, with a question mark if its value can be null. */
export function typeText({ kind, type, nullable }: Field): string {
  if (kind === "computed") return "computed";
  return `${type ?? ""}${nullable ? "?" : ""}`;
}

/** Returns a name with its description. */
export function described({ name, description }: { name: string; description?: string | undefined }): string {
  return description === undefined ? name : `${name}: ${description}`;
}

/** Returns what is known about a field: its name, description, type, and whether it can be null. */
export function fieldTitle(field: Field): string {
  const { kind, type = "unknown type", nullable } = field;
  const nullness = nullable === undefined ? "" : nullable ? ", can be null" : ", never null";
  return `${described(field)}\n${kind === "computed" ? "computed" : type + nullness}`;
}

export function scalars(entity: Entity): Field[] {
  return entity.fields.filter(({ kind }) => kind === "scalar");
}

/** Returns the entity at the end of a path of relations. */
export function entityAt(schema: Schema, entity: string | undefined, refs: readonly string[]): Entity | undefined {
  let name = entity;
  for (const ref of refs) name = relationOf(schema, name, ref)?.entity;
  return entityOf(schema, name);
}

/** Returns the field at the end of a path through to-one relations, such as `author.name`. `SPEC §14.2` */
export function fieldAt(schema: Schema, entity: string | undefined, path: string): Field | undefined {
  const refs = path.split(".");
  const name = refs.pop() ?? "";
  let at = entity;
  for (const ref of refs) {
    const relation = relationOf(schema, at, ref);
    at = relation?.type === "one" ? relation.entity : undefined;
  }
  return fieldOf(schema, at, name);
}

/** A scalar field with the path to it. */
export interface PathField {
  path: string;
  field: Field;
}

/**
 * Returns the scalar fields of an entity and those one to-one relation away. Along the relations of the path `chosen` they
 * continue, one relation further than it.
 */
export function pathFields(schema: Schema, entity: Entity | undefined, chosen = ""): PathField[] {
  const below = (at: Entity | undefined, prefix: string): PathField[] => {
    if (!at) return [];
    const fields = scalars(at).map((field) => ({ path: prefix + field.name, field }));
    if (!chosen.startsWith(prefix)) return fields;
    const ones = at.joins.filter(({ type }) => type === "one");
    return [...fields, ...ones.flatMap((one) => below(entityOf(schema, one.entity), `${prefix}${one.name}.`))];
  };
  return below(entity, "");
}

/** Returns the names of the fields that identify a record. */
export function idFields(entity: Entity | undefined): string[] {
  return [entity?.idField ?? []].flat();
}

/** Names of fields that describe a record, the best first. */
const DESCRIPTIVE = [/^(full|display)?_?name$/i, /^last_?name$/i, /^(title|label|subject)$/i, /name$/i, /^(code|email|login|slug)$/i];

/** Returns the most descriptive field of an entity: a name or title, else its id. */
export function firstField(entity: Entity | undefined): string | undefined {
  const found = DESCRIPTIVE.map((pattern) => entity?.fields.find(({ name }) => pattern.test(name)));
  return found.find((field) => field !== undefined)?.name ?? idFields(entity)[0] ?? entity?.fields[0]?.name;
}

/** Returns the fields that a new query selects: descriptive and short ones. */
export function starterFields(entity: Entity): string[] {
  const isWide = ({ name, type }: Field): boolean => type === "json" || type === "binary" || /^(body|text|content|description|bio|summary|notes?)$/i.test(name);
  const isKey = ({ name }: Field): boolean => !idFields(entity).includes(name) && /(Id|_id|ID)$/.test(name);
  const short = entity.fields.filter((field) => !isWide(field) && !isKey(field));
  const names = [...idFields(entity), firstField(entity), ...[...short, ...entity.fields].map(({ name }) => name)];
  return [...new Set(names.filter((name): name is string => typeof name === "string"))].slice(0, 3);
}

/** Returns the relation that a new query selects: preferably one to a single record of another entity. */
export function starterRelation(schema: Schema, entity: Entity): { name: string; field: string } | undefined {
  const one = entity.joins.find((join) => join.type === "one" && join.entity !== entity.name) ?? entity.joins.find((join) => join.type === "one");
  const field = one && firstField(entityOf(schema, one.entity));
  return one && field ? { name: one.name, field } : undefined;
}
