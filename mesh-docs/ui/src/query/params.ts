// The parameters of a query, and their values as typed in forms. `SPEC §19`

import { fieldAt, relationOf, type Schema } from "../schema";
import { isList, parseValue, PLACE, showValue } from "./filter";
import { parseJson } from "./json";
import { printFlat } from "./print";
import { plain } from "./read";
import { entityOfNode } from "./resolve";
import { isObject, nodes, paramName, type Query, type Value } from "./tree";

/** A parameter with what its first place takes. */
export interface Parameter {
  name: string;
  /** The type of the field, `cursor` in a page, or `undefined` if it is unknown. */
  type: string | undefined;
  /** The operator of the condition. */
  op: string;
}
/** The texts in the form, by name of the parameter. */
export type Texts = { readonly [name: string]: string };

/** Returns the parameters of a query, in the order of its text. */
export function parametersOf(schema: Schema | null, query: Query | undefined): Parameter[] {
  const found = new Map<string, Parameter>();
  if (!query) return [];
  const note = (value: Value | undefined, type: string | undefined, op = "eq"): void => {
    const name = paramName(value);
    if (name !== undefined && !found.has(name)) found.set(name, { name, type, op });
    else if (Array.isArray(value)) for (const item of value) note(item, type);
  };
  const inFilter = (filter: Value | undefined, entity: string | undefined): void => {
    if (!isObject(filter)) return;
    const { and, or, not, relation, where, field, aggregate, at, op, value, search } = filter;
    note(search, "string");
    for (const list of [and, or]) if (Array.isArray(list)) for (const item of list) inFilter(item, entity);
    inFilter(not, entity);
    if (typeof relation === "string") inFilter(where, schema ? relationOf(schema, entity, relation)?.entity : undefined);
    const isPlace = at !== undefined || aggregate !== undefined;
    const type = isPlace ? PLACE : schema && typeof field === "string" ? fieldAt(schema, entity, field)?.type : undefined;
    note(value, type, typeof op === "string" ? op : "eq");
  };
  for (const { refs, node } of nodes(query)) {
    const entity = schema ? entityOfNode(schema, query, refs)?.name : undefined;
    inFilter(node.controls["$where"], entity);
    inFilter(node.controls["$having"], entity);
    const page = node.controls["$page"];
    if (!isObject(page)) continue;
    for (const key of ["first", "last", "skip"]) note(page[key], "integer");
    for (const key of ["after", "before"]) note(page[key], "cursor");
  }
  return [...found.values()];
}

/**
 * Returns the values of parameters as the text of a JSON object; `undefined` if there are no parameters. Those without a
 * text are left out, except cursors, which are `null`.
 */
export function paramsText(parameters: readonly Parameter[], texts: Texts): string | undefined {
  if (parameters.length === 0) return undefined;
  const values: { [name: string]: Value } = {};
  for (const { name, type, op } of parameters) {
    const text = texts[name];
    if (type === "cursor") values[name] = text || null;
    else if (text !== undefined && (text !== "" || type === "string" || isList(op))) values[name] = parseValue(text, type, op);
  }
  return printFlat(values, "");
}

/** Returns the texts of values that were printed by `paramsText`. */
export function textsOf(parameters: readonly Parameter[], values: string | undefined): Texts {
  const read = values === undefined ? {} : plain(parseJson(values));
  if (!isObject(read)) return {};
  const type = (name: string): string | undefined => parameters.find((one) => one.name === name)?.type;
  return Object.fromEntries(Object.entries(read).map(([name, value]) => [name, showValue(value, type(name))]));
}

/** Returns the values of the parameters that a query has. */
export function valuesFor(query: Query | undefined, values: string | undefined): string | undefined {
  const names = parametersOf(null, query).map(({ name }) => name);
  if (values === undefined || names.length === 0) return undefined;
  const read = plain(parseJson(values));
  return printFlat(Object.fromEntries(Object.entries(isObject(read) ? read : {}).filter(([name]) => names.includes(name))), "");
}
