// Completion of names and keywords from the schema and the format.

import { snippetCompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import { entityAt, entityOf, fieldOf, firstField, idFields, relationOf, scalars, type Entity, type Schema } from "../schema";
import { contextAt, type CursorContext } from "../query/cursor";
import type { Format, Query } from "../query/tree";

export interface Surroundings {
  schema: Schema | null;
  format: Format;
  query: Query | undefined;
  isPoint: boolean;
}

type Offer = Completion & { insert: string };

export function completer(surroundings: () => Surroundings) {
  return (context: CompletionContext): CompletionResult | null => {
    const around = surroundings();
    if (!around.schema) return null;
    const text = context.state.doc.toString();
    const cursor = contextAt(around.format, text, context.pos);
    if (!cursor) return null;
    const typed = context.pos > cursor.from;
    const last = text.slice(0, context.pos).trimEnd().at(-1);
    if (!context.explicit && !typed && (around.format === "ql" || !/[{:[,]/.test(last ?? ""))) return null;
    const offers = around.format === "ql" ? inQl(around.schema, cursor) : inJson(around.schema, cursor, around);
    if (offers.length === 0) return null;
    // The word may have a closing quote.
    const rest = /^[\w$.]*"?/.exec(text.slice(context.pos))?.[0] ?? "";
    const to = around.format === "json" && text[cursor.from] === '"' ? context.pos + rest.length : context.pos;
    const options = offers.map(({ insert, ...one }) => ({ ...one, apply: applying(insert, cursor, to) }));
    const filterFrom = text[cursor.from] === '"' ? cursor.from + 1 : cursor.from;
    return { from: filterFrom, options, validFor: /^[\w$]*$/ };
  };
}

/** Replaces the word at the cursor by an offer, with the commas that are missing around it. */
function applying(insert: string, cursor: CursorContext, to: number) {
  return (view: EditorView, completion: Completion, _from: number, until: number): void => {
    const end = Math.max(to, until);
    const after = view.state.sliceDoc(end, end + 200).trimStart()[0];
    const isMember = cursor.slot === "key" && insert.startsWith('"');
    const closing = isMember && after === '"' ? "," : "";
    if (cursor.comma !== undefined && isMember) {
      view.dispatch({ changes: { from: cursor.comma, insert: "," } });
      insertSnippet(view, completion, insert + closing, cursor.from + 1, end + 1);
    } else {
      insertSnippet(view, completion, insert + closing, cursor.from, end);
    }
  };
}

function insertSnippet(view: EditorView, completion: Completion, insert: string, from: number, to: number): void {
  const made = snippetCompletion(insert, { label: completion.label });
  if (typeof made.apply === "function") made.apply(view, made, from, to);
}

function selections(entity: Entity | undefined, before: string[], quote: boolean, schema: Schema): Offer[] {
  if (!entity) return [];
  const fields = entity.fields.map(({ name, type, kind }): Offer => ({
    label: name,
    type: "property",
    detail: type ?? kind,
    boost: idFields(entity).includes(name) ? 1 : 0,
    insert: quote ? `"${name}": true` : name,
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
  return { label, type: "class", detail, insert };
}

function inQl(schema: Schema, cursor: CursorContext): Offer[] {
  const [root, ...refs] = cursor.path;
  if (root === undefined) return cursor.before.length === 0 ? entities(schema, false) : [];
  return selections(entityAt(schema, root, refs), cursor.before, false, schema);
}

function entities(schema: Schema, quote: boolean): Offer[] {
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

function control(name: string): Offer {
  return { label: name, type: "keyword", insert: `"${name}": ${CONTROL_SNIPPETS[name] ?? "${}"}` };
}

function words(list: readonly string[], type = "constant"): Offer[] {
  return list.map((label) => ({ label, type, insert: `"${label}"` }));
}

function keys(list: readonly string[], before: string[], bodies: Record<string, string> = {}): Offer[] {
  const free = list.filter((label) => !before.includes(label));
  return free.map((label) => ({ label, type: "keyword", insert: `"${label}": ${bodies[label] ?? '"${}"'}` }));
}

const LIST = "[{ ${} }]";

function inJson(schema: Schema, cursor: CursorContext, around: Surroundings): Offer[] {
  const [root, ...rest] = cursor.path;
  if (root === undefined) return cursor.slot === "key" && cursor.before.length === 0 ? entities(schema, true) : [];
  // The path of relations to the innermost node; the rest of the path is inside one of its controls.
  const refs: string[] = [];
  let left = rest;
  while (left[0] === "$select" && left[1] !== undefined) {
    refs.push(left[1]);
    left = left.slice(2);
  }
  const entity = entityAt(schema, root, refs);
  const { aggregateFunctions, controls, filterOperators } = schema.query;
  const [where, ...inside] = left;
  if (where === undefined) {
    const parent = entityAt(schema, root, refs.slice(0, -1));
    const list = refs.length > 0 ? relationOf(schema, parent?.name, refs.at(-1) ?? "")?.type === "many" : !around.isPoint;
    const nested = ["$select", "$where", "$orderBy", "$page"];
    const allowed = !list ? ["$select"] : refs.length > 0 ? nested : controls;
    return cursor.slot === "key" ? allowed.filter((one) => !cursor.before.includes(one)).map(control) : [];
  }
  if (where === "$select") {
    if (cursor.slot === "key") return selections(entity, cursor.before, true, schema);
    const name = cursor.key ?? "";
    if (fieldOf(schema, entity?.name, name)) return [{ label: "true", type: "keyword", insert: "true" }];
    return [{ label: '{ "$select": … }', type: "keyword", insert: '{ "$select": { "${}": true } }' }];
  }
  const fields = (): Offer[] => (entity ? scalars(entity) : []).map(({ name, type = "" }) => ({ label: name, type: "property", detail: type, insert: `"${name}"` }));
  const aliases = (): Offer[] => words(Object.keys(around.query?.root.controls["$aggregate"] ?? {}), "variable");
  if (cursor.slot === "value") {
    switch (cursor.key) {
      case "field":
        return fields();
      case "op":
        return words(filterOperators);
      case "direction":
        return words(["asc", "desc"]);
      case "nulls":
        return words(["first", "last"]);
      case "fn":
        return words(aggregateFunctions, "function");
      case "aggregate":
        return aliases();
      default:
        return cursor.key === undefined && (where === "$distinct" || where === "$groupBy") ? fields() : [];
    }
  }
  switch (where) {
    case "$where":
    case "$having": {
      const operands = where === "$having" ? ["aggregate", "field"] : ["field"];
      return keys([...operands, "op", "value", "and", "or", "not"], cursor.before, { and: LIST, or: LIST, not: "{ ${} }", value: "${}" });
    }
    case "$orderBy":
      return keys(["field", "direction", "nulls"], cursor.before);
    case "$page":
      return keys(["first", "after"], cursor.before, { first: "${20}", after: "${null}" });
    case "$aggregate":
      return inside.length > 0 ? keys(["fn", "field", "distinct"], cursor.before, { distinct: "${true}" }) : [];
    default:
      return [];
  }
}
