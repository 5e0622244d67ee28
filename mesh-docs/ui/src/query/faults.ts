// Faults of a query that the schema shows. The server reports the first fault only; these are marked beside it.

import { entityOf, fieldAt, fieldOf, relationOf, type Entity, type Schema } from "../schema";
import { JsonFault, member, parseJson, type Json, type Member, type Span } from "./json";
import { hasRelevance } from "./filter";
import { plain, readQuery } from "./read";
import type { Format, Node } from "./tree";

export interface LocalFault extends Span {
  message: string;
}

/** Returns the faults of names in a query, in the order of the text; none if the text is no query. */
export function localFaults(schema: Schema, format: Format, text: string): LocalFault[] {
  return format === "json" ? inJson(schema, text) : inQl(schema, text);
}

function inQl(schema: Schema, text: string): LocalFault[] {
  const query = readQuery("ql", text);
  if (!query) return [];
  const entity = entityOf(schema, query.entity);
  if (!entity) return [{ ...query.span, message: unknownEntity(query.entity) }];
  const found: LocalFault[] = [];
  const walk = (node: Node, at: Entity): void => {
    for (const { name, span, node: below } of node.select) {
      const relation = relationOf(schema, at.name, name);
      const target = relation && entityOf(schema, relation.entity);
      if (below && target) walk(below, target);
      else if (!fieldOf(schema, at.name, name) && !relation) found.push({ ...span, message: unknownName(name, at) });
    }
  };
  walk(query.root, entity);
  return found;
}

function unknownEntity(name: string): string {
  return `There is no entity '${name}'`;
}

function unknownName(name: string, entity: Entity): string {
  return `'${entity.name}' has no field or relation '${name}'`;
}

function inJson(schema: Schema, text: string): LocalFault[] {
  const root = rootOf(text);
  if (!root) return [];
  const entity = entityOf(schema, root.key);
  if (!entity) return [{ ...keySpan(root), message: unknownEntity(root.key) }];
  const found: LocalFault[] = [];
  const note = (json: Json, message: string): void => void found.push({ from: json.from, to: json.to, message });

  /** Checks a value that names a field, or a path to one. */
  const field = (json: Json | undefined, at: Entity): void => {
    if (json?.kind === "string" && json.value !== "*" && !fieldAt(schema, at.name, json.value)) note(json, unknownName(json.value, at));
  };
  const condition = (json: Json | undefined, at: Entity, isNegated = false): void => {
    for (const key of ["and", "or"]) for (const item of items(member(json, key))) condition(item, at, isNegated);
    if (member(json, "not")) condition(member(json, "not"), at, true);
    const search = member(json, "search");
    if (search && !at.search) note(search, `'${at.name}' cannot be searched`);
    else if (search && isNegated) note(search, "A search cannot be below 'not'; exclude words with '-' in the text");
    const op = member(json, "op");
    const ref = member(json, "relation");
    if (ref?.kind === "string") {
      const relation = relationOf(schema, at.name, ref.value);
      const target = relation && entityOf(schema, relation.entity);
      if (!relation) note(ref, unknownName(ref.value, at));
      else if (target) condition(member(json, "where"), target, isNegated);
      return;
    }
    field(member(json, "field"), at);
    if (op?.kind === "string" && !schema.query.filterOperators.includes(op.value)) note(op, `There is no operator '${op.value}'`);
  };
  const node = (json: Json, at: Entity): void => {
    if (json.kind !== "object") return;
    const text = (named: Json | undefined): string => (named?.kind === "string" ? named.value : "");
    const buckets = items(member(json, "$groupBy")).map((item) => text(member(item, "as")));
    for (const { key, keyFrom, keyTo, value } of json.members) {
      if (key === "$select") {
        if (value.kind === "object") for (const selected of value.members) if (!buckets.includes(selected.key)) selection(selected, at);
      } else if (key === "$where") {
        condition(value, at);
      } else if (key === "$orderBy") {
        const isKnown = (item: Json): boolean => member(item, "relation") !== undefined || buckets.includes(text(member(item, "field")));
        const where = member(json, "$where");
        const isRanked = json === root.value && where !== undefined && hasRelevance(plain(where));
        items(value).forEach((item, index) => {
          if (!isKnown(item)) field(member(item, "field"), at);
          if (member(item, "search") && !isRanked) note(item, "An order by relevance belongs to the root, with one search among the conditions of '$where'");
          else if (member(item, "search") && index > 0) note(item, "The order by relevance is the first key");
        });
      } else if (key === "$groupBy" || key === "$distinct") {
        for (const item of items(value)) field(member(item, "field") ?? item, at);
      } else if (key !== "$relation" && !schema.query.controls.includes(key)) {
        found.push({ from: keyFrom, to: keyTo, message: `There is no control '${key}'` });
      }
    }
  };
  const selection = (selected: Member, at: Entity): void => {
    const { key, value } = selected;
    const alias = member(value, "$field") ?? member(value, "$relation");
    const name = alias?.kind === "string" ? alias.value : key;
    const relation = relationOf(schema, at.name, name);
    const target = relation && entityOf(schema, relation.entity);
    if (target) node(value, target);
    else if (!fieldOf(schema, at.name, name) && !relation) found.push({ ...(alias ?? keySpan(selected)), message: unknownName(name, at) });
  };
  node(root.value, entity);
  return found.map(({ from, to, message }) => ({ from, to, message }));
}

/** Returns the member that is the root of a query. */
function rootOf(text: string): Member | undefined {
  try {
    const json = parseJson(text);
    return json.kind === "object" && json.members.length === 1 ? json.members[0] : undefined;
  } catch (fault) {
    if (fault instanceof JsonFault) return undefined;
    throw fault;
  }
}

/** Returns the position of a key with its quotes. */
function keySpan({ keyFrom, keyTo }: Member): Span {
  return { from: keyFrom, to: keyTo };
}

function items(json: Json | undefined): Json[] {
  return json?.kind === "array" ? json.items : [];
}
