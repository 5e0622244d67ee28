// What can stand at the cursor: names and keywords from the schema and the format.

import type { Completion } from "@codemirror/autocomplete";
import { entityOf, fieldOf, firstField, idFields, pathFields, relationOf, scalars, typeText, type Entity, type Field, type Schema } from "../schema";
import type { CursorContext } from "../query/cursor";
import { QUANTIFIERS } from "../query/filter";
import { UNITS } from "../query/group";
import { parametersOf } from "../query/params";
import type { Format, Query } from "../query/tree";

export interface Surroundings {
  schema: Schema | null;
  format: Format;
  query: Query | undefined;
  isPoint: boolean;
}

export type Offer = Completion & { insert: string };

/** Returns the description of an entity or field in the form of completions. */
function info(description: string | undefined): { info?: string } {
  return description === undefined ? {} : { info: description };
}

/** Offers the fields and relations of an entity that are not selected before. */
export function selections(entity: Entity | undefined, before: string[], quote: boolean, schema: Schema): Offer[] {
  if (!entity) return [];
  const fields = entity.fields.map((field): Offer => ({
    label: field.name,
    type: "property",
    detail: typeText(field) || field.kind,
    ...info(field.description),
    boost: idFields(entity).includes(field.name) ? 1 : 0,
    insert: quote ? `"${field.name}": true` : field.name,
  }));
  const relations = entity.joins.map(({ name, type, entity: target }) => {
    return node(name, type === "many" ? `${target}[]` : target, entityOf(schema, target), quote);
  });
  return [...fields, ...relations].filter(({ label }) => !before.includes(label));
}

/** Offers a node with the most descriptive field of its entity. */
function node(label: string, detail: string, entity: Entity | undefined, quote: boolean): Offer {
  const first = firstField(entity) ?? "id";
  const insert = quote ? `"${label}": { "$select": { "\${${first}}": true } }` : `${label} { \${${first}} }`;
  return { label, type: "class", detail, ...info(entity?.description), insert };
}

export function entities(schema: Schema, quote: boolean): Offer[] {
  return schema.entities.map((entity) => node(entity.name, `${entity.fields.length} fields`, entity, quote));
}

const CONTROL_SNIPPETS: Record<string, string> = {
  $select: '{ "${}": true }',
  $where: '{ "field": "${field}", "op": "${eq}", "value": ${value} }',
  $orderBy: '[{ "field": "${field}", "direction": "${asc}" }]',
  $page: '{ "first": ${20} }',
  $distinct: '["${field}"]',
  $groupBy: '["${field}"]',
  $aggregate: '{ "${n}": { "fn": "${count}" } }',
  $having: '{ "aggregate": "${n}", "op": "${gt}", "value": ${1} }',
};
const NESTED = ["$select", "$where", "$orderBy", "$page", "$groupBy", "$aggregate", "$having"];

function control(name: string): Offer {
  return { label: name, type: "keyword", insert: `"${name}": ${CONTROL_SNIPPETS[name] ?? "${}"}` };
}

function words(list: readonly string[], type = "constant"): Offer[] {
  return list.map((label) => ({ label, type, insert: `"${label}"` }));
}

function bare(...list: string[]): Offer[] {
  return list.map((label) => ({ label, type: "keyword", insert: label }));
}

function keys(list: readonly string[], before: string[], bodies: Record<string, string> = {}): Offer[] {
  const free = list.filter((label) => !before.includes(label));
  return free.map((label) => ({ label, type: "keyword", insert: `"${label}": ${bodies[label] ?? '"${}"'}` }));
}

const LIST = "[{ ${} }]";
const BUCKET: Offer = { label: '{ "by": … }', type: "keyword", insert: '{ "field": "${field}", "by": "${month}", "as": "${month}" }' };
const PARAM: Offer = { label: '{ "$param": … }', type: "keyword", insert: '{ "$param": "${name}" }' };

/** Where the cursor is: in a node, or in one of its controls. */
interface Spot {
  /** The entity of the node or, in a condition on a relation, of its records. */
  entity: Entity | undefined;
  /** The entity of the node around it. */
  parent: Entity | undefined;
  /** Whether the relation that leads to the node is to many; `undefined` for the root and unknown names. */
  isMany: boolean | undefined;
  isRoot: boolean;
  control: string | undefined;
  /** The path inside of the control. */
  inside: string[];
}

function spotOf(schema: Schema, { path, relations }: CursorContext): Spot {
  let entity = entityOf(schema, path[0]);
  let parent: Entity | undefined;
  let isMany: boolean | undefined;
  let at = 1;
  const follow = (name: string | undefined): void => {
    parent = entity;
    const relation = relationOf(schema, entity?.name, name ?? "");
    isMany = relation && relation.type === "many";
    entity = relation && entityOf(schema, relation.entity);
  };
  for (; path[at] === "$select" && path[at + 1] !== undefined; at += 2) follow(relations[at + 1] ?? path[at + 1]);
  const spot = { parent, isMany, isRoot: at === 1, control: path[at], inside: path.slice(at + 1) };
  const inner = spot.control === "$where" ? "where" : spot.control === "$orderBy" ? "aggregate" : undefined;
  for (at += 1; at < path.length; at += 1) if (path[at] === inner) follow(relations[at - 1]);
  return { ...spot, entity };
}

/** Returns what can stand at the cursor in JSON, where `typed` has been written so far. */
export function inJson(schema: Schema, cursor: CursorContext, around: Surroundings, typed: string): Offer[] {
  const { path, slot, key, before } = cursor;
  if (path.length === 0) return slot === "key" && before.length === 0 ? entities(schema, true) : [];
  const spot = spotOf(schema, cursor);
  if (spot.control === undefined) return slot === "key" ? inNode(schema, cursor, spot, around) : inValue(schema, cursor, spot, around, typed);
  if (spot.control === "$select") {
    if (slot === "key") return selections(spot.entity, before, true, schema);
    if (fieldOf(schema, spot.entity?.name, key ?? "")) return bare("true");
    const select: Offer = { label: '{ "$select": … }', type: "keyword", insert: '{ "$select": { "${}": true } }' };
    if (relationOf(schema, spot.entity?.name, key ?? "")) return [select];
    const field: Offer = { label: '{ "$field": … }', type: "keyword", insert: '{ "$field": "${}" }' };
    return [field, { label: '{ "$relation": … }', type: "keyword", insert: '{ "$relation": "${}", "$select": {} }' }];
  }
  return slot === "key" ? inControl(cursor, spot) : inValue(schema, cursor, spot, around, typed);
}

/** Offers the controls of a node, and what an alias is of. */
function inNode(schema: Schema, { before }: CursorContext, { isMany, isRoot }: Spot, { isPoint }: Surroundings): Offer[] {
  if (!isRoot && before.includes("$field")) return keys(["at"], before, { at: '"/${}"' });
  if (!isRoot && isMany === undefined) return before.length > 0 ? [] : keys(["$field", "$relation"], before, { $relation: '"${}", "$select": {}' });
  const list = isRoot ? (isPoint ? ["$select"] : schema.query.controls) : isMany ? NESTED : ["$select"];
  return list.filter((one) => !before.includes(one)).map(control);
}

/** Offers the keys of an object in a control. */
function inControl({ before, path, relations }: CursorContext, { control, inside, entity, isRoot }: Spot): Offer[] {
  const last = inside.at(-1);
  const isElement = last === "[]" && inside.at(-2) === "value";
  const isPageValue = control === "$page" && last !== undefined;
  if (last === "value" || last === "search" || isElement || isPageValue) return keys(["$param"], before);
  const bodies = { and: LIST, or: LIST, not: "{ ${} }", value: "${}", where: "{ ${} }" };
  switch (control) {
    case "$where": {
      const canSearch = entity?.search && !inside.includes("not");
      if (before.includes("relation")) return keys(["op", "where"], before, bodies);
      if (before.includes("search")) return [];
      if (before.length > 0) return keys(["field", "at", "op", "value"], before, { ...bodies, at: '"/${}"' });
      return keys(["field", ...(entity?.joins.length ? ["relation"] : []), ...(canSearch ? ["search"] : []), "op", "value", "and", "or", "not"], before, bodies);
    }
    case "$having":
      return keys(["aggregate", "field", "op", "value", "and", "or", "not"], before, bodies);
    case "$orderBy": {
      if (last === "aggregate") return keys(["fn", "field", "distinct"], before, { distinct: "${true}" });
      const ofRelation = relations[path.length - 1] !== undefined;
      if (ofRelation) return keys(["aggregate", "direction", "nulls"], before, { aggregate: '{ "fn": "${count}" }' });
      if (before.includes("search")) return [];
      const hasLists = entity?.joins.some(({ type }) => type === "many") && before.length === 0;
      const hasRelevance = isRoot && entity?.search && before.length === 0;
      return keys(["field", ...(hasLists ? ["relation"] : []), ...(hasRelevance ? ["search"] : []), "direction", "nulls"], before, { search: '"relevance"' });
    }
    case "$groupBy":
      return inside.length > 0 ? keys(["field", "by", "as", "zone"], before) : [];
    case "$page": {
      const groups = [["first", "after"], ["first", "skip"], ["last", "before"]];
      const fitting = groups.filter((group) => before.every((key) => key === "total" || group.includes(key)));
      const names = [...new Set(fitting.flat()), ...(isRoot ? ["total"] : [])];
      return keys(names, before, { first: "${20}", last: "${20}", after: "${null}", before: "${null}", skip: "${20}", total: "true" });
    }
    case "$aggregate":
      return inside.length > 0 ? keys(["fn", "field", "distinct"], before, { distinct: "${true}" }) : [];
    default:
      return [];
  }
}

/** Offers values. */
function inValue(schema: Schema, { key, before, path, relations }: CursorContext, { control, inside, entity, parent }: Spot, { query }: Surroundings, typed: string): Offer[] {
  const root = query?.root.controls["$aggregate"] ?? {};
  const field = (name: string, known: Field): Offer => ({ label: name, type: "property", detail: typeText(known), ...info(known.description), insert: `"${name}"` });
  const fields = (): Offer[] => (entity ? scalars(entity).map((known) => field(known.name, known)) : []);
  const isFold = control === "$aggregate" || (control === "$orderBy" && inside.at(-1) === "aggregate");
  const hasPaths = !isFold && (control === "$where" || control === "$orderBy");
  switch (key) {
    case "field":
      return hasPaths ? pathFields(schema, entity, typed.replace('"', "")).map(({ path, field: known }) => field(path, known)) : fields();
    case "$field":
      return words(parent?.fields.map(({ name }) => name) ?? [], "property");
    case "$relation":
      return words(parent?.joins.map(({ name }) => name) ?? [], "class");
    case "relation":
      return words((entity?.joins ?? []).filter(({ type }) => control === "$where" || type === "many").map(({ name }) => name), "class");
    case "op":
      return words(relations[path.length - 1] === undefined ? schema.query.filterOperators : QUANTIFIERS);
    case "direction":
      return words(["asc", "desc"]);
    case "nulls":
      return words(["first", "last"]);
    case "search":
      return control === "$orderBy" ? words(["relevance"]) : [PARAM];
    case "by":
      return words(UNITS);
    case "fn":
      return words(schema.query.aggregateFunctions, "function");
    case "aggregate":
      return before.includes("relation") ? [{ label: '{ "fn": … }', type: "keyword", insert: '{ "fn": "${count}" }' }] : words(Object.keys(root), "variable");
    case "value":
    case "first":
    case "last":
    case "skip":
      return [PARAM];
    case "after":
    case "before":
      return [...bare("null"), PARAM];
    case "total":
    case "distinct":
      return bare("true");
    case "$param":
      return words(parametersOf(schema, query).map(({ name }) => name), "variable");
    case undefined:
      return inside.at(-1) === "value" ? [PARAM] : control === "$groupBy" ? [...fields(), BUCKET] : control === "$distinct" ? fields() : [];
    default:
      return [];
  }
}
