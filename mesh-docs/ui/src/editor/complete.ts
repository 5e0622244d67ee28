// Completion of names and keywords from the schema and the format.

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { snippetCompletion } from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import { entityAt, entityOf, fieldOf, firstField, type Entity, type Schema } from "../schema";
import { spotAt, type Spot } from "../query/cursor";
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
    const spot = spotAt(around.format, text, context.pos);
    if (!spot) return null;
    const typed = context.pos > spot.from;
    const last = text.slice(0, context.pos).trimEnd().at(-1);
    if (!context.explicit && !typed && last !== "{" && last !== ":" && last !== "[" && last !== ",") return null;
    if (!context.explicit && !typed && around.format === "ql") return null;
    const offers = around.format === "ql" ? inQl(around.schema, spot) : inJson(around.schema, spot, around);
    if (offers.length === 0) return null;
    // The word may have its closing quote already.
    const rest = /^[\w$.]*"?/.exec(text.slice(context.pos))?.[0] ?? "";
    const to = around.format === "json" && text[spot.from] === '"' ? context.pos + rest.length : context.pos;
    const options = offers.map(({ insert, ...one }) => ({ ...one, apply: applying(insert, spot, to) }));
    const filterFrom = text[spot.from] === '"' ? spot.from + 1 : spot.from;
    return { from: filterFrom, options, validFor: /^[\w$]*$/ };
  };
}

/** Puts an offer in the word's place, with the commas that are missing around it. */
function applying(insert: string, spot: Spot, to: number) {
  return (view: EditorView, completion: Completion, _from: number, until: number): void => {
    const end = Math.max(to, until);
    const after = view.state.sliceDoc(end, end + 200).trimStart()[0];
    const isMember = spot.slot === "key" && insert.startsWith('"');
    const closing = isMember && after === '"' ? "," : "";
    if (spot.comma !== undefined && isMember) {
      view.dispatch({ changes: { from: spot.comma, insert: "," } });
      place(view, completion, insert + closing, spot.from + 1, end + 1);
    } else {
      place(view, completion, insert + closing, spot.from, end);
    }
  };
}

function place(view: EditorView, completion: Completion, insert: string, from: number, to: number): void {
  const made = snippetCompletion(insert, { label: completion.label });
  if (typeof made.apply === "function") made.apply(view, made, from, to);
}

function selections(entity: Entity | undefined, before: string[], quote: boolean, schema: Schema): Offer[] {
  if (!entity) return [];
  const fields = entity.fields.map((one): Offer => ({
    label: one.name,
    type: "property",
    detail: one.type ?? one.kind,
    boost: one.name === entity.idField ? 1 : 0,
    insert: quote ? `"${one.name}": true` : one.name,
  }));
  const relations = entity.joins.map((one): Offer => {
    const first = firstField(entityOf(schema, one.entity)) ?? "id";
    const json = `"${one.name}": { "$select": { "\${${first}}": true } }`;
    return {
      label: one.name,
      type: "class",
      detail: one.type === "many" ? `${one.entity}[]` : one.entity,
      insert: quote ? json : `${one.name} { \${${first}} }`,
    };
  });
  return [...fields, ...relations].filter((one) => !before.includes(one.label));
}

function inQl(schema: Schema, spot: Spot): Offer[] {
  const [root, ...refs] = spot.path;
  if (root === undefined) return spot.before.length === 0 ? entities(schema, false) : [];
  return selections(entityAt(schema, root, refs), spot.before, false, schema);
}

function entities(schema: Schema, quote: boolean): Offer[] {
  return schema.entities.map((one) => {
    const first = firstField(one) ?? "id";
    const json = `"${one.name}": { "$select": { "\${${first}}": true } }`;
    const insert = quote ? json : `${one.name} { \${${first}} }`;
    return { label: one.name, type: "class", detail: `${one.fields.length} fields`, insert };
  });
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

function inJson(schema: Schema, spot: Spot, around: Surroundings): Offer[] {
  const [root, ...rest] = spot.path;
  if (root === undefined) return spot.slot === "key" && spot.before.length === 0 ? entities(schema, true) : [];
  // From node to node down to the innermost; what is left lies inside one of its controls.
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
    const relation = refs.length > 0 ? entityAt(schema, root, refs.slice(0, -1))?.joins.find((one) => one.name === refs.at(-1)) : undefined;
    const list = refs.length > 0 ? relation?.type === "many" : !around.isPoint;
    const nested = ["$select", "$where", "$orderBy", "$page"];
    const allowed = !list ? ["$select"] : refs.length > 0 ? nested : controls;
    return spot.slot === "key" ? allowed.filter((one) => !spot.before.includes(one)).map(control) : [];
  }
  if (where === "$select") {
    if (spot.slot === "key") return selections(entity, spot.before, true, schema);
    const name = spot.key ?? "";
    if (fieldOf(schema, entity?.name, name)) return [{ label: "true", type: "keyword", insert: "true" }];
    return [{ label: '{ "$select": … }', type: "keyword", insert: '{ "$select": { "${}": true } }' }];
  }
  const fields = (): Offer[] => (entity?.fields ?? []).filter((one) => one.kind === "scalar").map((one) => ({ label: one.name, type: "property", detail: one.type ?? "", insert: `"${one.name}"` }));
  const aliases = (): Offer[] => words(Object.keys(around.query?.root.controls["$aggregate"] ?? {}), "variable");
  if (spot.slot === "value") {
    switch (spot.key) {
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
      case undefined:
        return where === "$distinct" || where === "$groupBy" ? fields() : [];
      default:
        return [];
    }
  }
  switch (where) {
    case "$where":
      return keys(["field", "op", "value", "and", "or", "not"], spot.before, { and: LIST, or: LIST, not: "{ ${} }", value: "${}" });
    case "$having":
      return keys(["aggregate", "field", "op", "value", "and", "or", "not"], spot.before, { and: LIST, or: LIST, not: "{ ${} }", value: "${}" });
    case "$orderBy":
      return keys(["field", "direction", "nulls"], spot.before);
    case "$page":
      return keys(["first", "after"], spot.before, { first: "${20}", after: "${null}" });
    case "$aggregate":
      return inside.length > 0 ? keys(["fn", "field", "distinct"], spot.before, { distinct: "${true}" }) : [];
    default:
      return [];
  }
}
