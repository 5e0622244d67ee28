// `$where` as a tree of groups and conditions for forms, and back.

import { isObject, paramName, RawNumber, type Value } from "./tree";

export type Filter = Group | Condition | Related | Search;
export interface Group {
  kind: "and" | "or" | "not";
  items: Filter[];
}
export interface Condition {
  kind: "condition";
  /** A field, or a path to one. */
  field: string;
  /** A JSON Pointer into the value of a JSON field. `SPEC §14.8` */
  at?: string | undefined;
  op: string;
  value: Value | undefined;
}
/** A condition on the records of a relation. `SPEC §14.1` */
export interface Related {
  kind: "related";
  relation: string;
  op: string;
  where?: Filter | undefined;
}

/** A search of the records for words. `SPEC §20.2` */
export interface Search {
  kind: "search";
  /** A text, or a parameter. */
  text: Value;
}

export const QUANTIFIERS = ["some", "none", "every"] as const;

/** The type of a scalar at a place in a JSON value. Its literal is text, a number, or a boolean. */
export const PLACE = "place";

export function isNullTest(op: string): boolean {
  return op === "isNull" || op === "isNotNull";
}

export function isList(op: string): boolean {
  return op === "in" || op === "nin" || op === "hasAny" || op === "hasAll";
}

/** Whether an operator is about the elements of an array. `SPEC §22.2` */
function isOfArrays(op: string): boolean {
  return op.startsWith("has");
}

/** Whether the literals of a type are text, numbers, or booleans. */
function isOfJson(type: string | undefined): boolean {
  return type === PLACE || type === "json";
}

/** Returns the JSON Pointer that a form has, where the first slash can be left out. */
export function asPointer(text: string): string {
  return text.startsWith("/") ? text : `/${text}`;
}

/** Parses `$where`; `undefined` if forms cannot show it. */
export function readFilter(value: Value | undefined): Filter | undefined {
  if (!isObject(value)) return undefined;
  for (const kind of ["and", "or"] as const) {
    const list = value[kind];
    if (Array.isArray(list)) {
      const items = list.map(readFilter);
      return items.every((item) => item !== undefined) ? { kind, items } : undefined;
    }
  }
  if (value["not"] !== undefined) {
    const inner = readFilter(value["not"]);
    return inner && { kind: "not", items: [inner] };
  }
  const { field, at, op, relation, where, search } = value;
  if (typeof search === "string" || paramName(search) !== undefined) return { kind: "search", text: search as Value };
  if (typeof op !== "string") return undefined;
  if (typeof relation === "string") {
    const inner = readFilter(where);
    return where !== undefined && !inner ? undefined : { kind: "related", relation, op, where: inner };
  }
  if (typeof field !== "string" || (at !== undefined && typeof at !== "string")) return undefined;
  return { kind: "condition", field, at, op, value: value["value"] };
}

/** Converts a filter to JSON; an empty group to `undefined`. */
export function writeFilter(filter: Filter): Value | undefined {
  if (filter.kind === "condition") {
    const { field, at, op, value } = filter;
    const place: { [key: string]: Value } = at === undefined ? { field } : { field, at };
    return isNullTest(op) ? { ...place, op } : { ...place, op, value: value ?? "" };
  }
  if (filter.kind === "search") return { search: filter.text };
  if (filter.kind === "related") {
    const { relation, op } = filter;
    const where = filter.where && writeFilter(filter.where);
    return where === undefined ? { relation, op } : { relation, op, where };
  }
  const items = filter.items.map(writeFilter).filter((item): item is Value => item !== undefined);
  if (items.length === 0) return undefined;
  if (filter.kind === "not") return { not: items.length === 1 ? (items[0] as Value) : { and: items } };
  return { [filter.kind]: items };
}

/** Returns the search among the conditions that all records have to satisfy, and the filter without it. */
export function splitSearch(filter: Filter | undefined): { search?: Search; rest: Filter | undefined } {
  if (filter?.kind === "search") return { search: filter, rest: undefined };
  const found = filter?.kind === "and" ? filter.items.filter((item) => item.kind === "search") : [];
  const [search] = found;
  if (filter?.kind !== "and" || !search || found.length > 1) return { rest: filter };
  const items = filter.items.filter((item) => item !== search);
  return { search, rest: items.length > 1 ? { ...filter, items } : items[0] };
}

/** Returns a filter of a search and of other conditions. */
export function joinSearch(search: Search | undefined, rest: Filter | undefined): Filter | undefined {
  if (!search || !rest) return search ?? rest;
  return { kind: "and", items: [search, ...(rest.kind === "and" ? rest.items : [rest])] };
}

/** Whether a list with this `$where` can be ordered by relevance. `SPEC §20.3` */
export function hasRelevance(where: Value | undefined): boolean {
  const isSearch = (one: Value | undefined): boolean => isObject(one) && one["search"] !== undefined;
  const all = isObject(where) ? where["and"] : undefined;
  return isSearch(where) || (Array.isArray(all) && all.filter(isSearch).length === 1);
}

/** Parses the text of a form as a value of a type. Elements of lists are separated by commas. */
export function parseValue(text: string, type: string | undefined, op: string): Value {
  if (isList(op)) {
    const parts = text.split(",").map((part) => part.trim());
    return parts.filter((part) => part !== "").map((part) => parseOne(part, type));
  }
  return parseOne(text, type);
}

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

function parseOne(text: string, type: string | undefined): Value {
  const param = /^\{"\$param": ?"([A-Za-z_]\w*)"\}$/.exec(text)?.[1];
  if (param !== undefined) return { $param: param };
  if ((type === "boolean" || isOfJson(type)) && (text === "true" || text === "false")) return text === "true";
  if (NUMBER.test(text) && (type === "integer" || type === "number" || isOfJson(type))) {
    return String(Number(text)) === text ? Number(text) : new RawNumber(text);
  }
  if (isOfJson(type) && /^".*"$/s.test(text)) return unquoted(text);
  return text;
}

/** Returns the text in quotes, which at a place in JSON may look like a number; other text as it is. */
function unquoted(text: string): string {
  try {
    return String(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Formats a value of a type for a form. */
export function showValue(value: Value | undefined, type?: string): string {
  if (value === undefined || value === null) return "";
  if (value instanceof RawNumber) return value.raw;
  if (Array.isArray(value)) return value.map((item) => showValue(item, type)).join(", ");
  if (typeof value === "object") return JSON.stringify(value);
  return isOfJson(type) && typeof value === "string" && parseOne(value, type) !== value ? JSON.stringify(value) : String(value);
}

/** Returns the value that takes the place of another one when type or operator change: a parameter stays. */
export function convert(value: Value | undefined, from: string | undefined, type: string | undefined, op: string): Value {
  if (paramName(value) !== undefined) return value as Value;
  if (type === "boolean" && typeof value !== "boolean") return true;
  return parseValue(showValue(value, from), type, op);
}

/** Returns the operators that a type supports. `SPEC §3.7`, `SPEC §14.8`, `SPEC §22.2` */
export function operatorsFor(type: string | undefined, all: readonly string[]): string[] {
  if (type === PLACE) return [...all];
  if (type === "json") return all.filter((op) => isNullTest(op) || isOfArrays(op));
  if (type === "binary") return all.filter(isNullTest);
  const scalar = all.filter((op) => !isOfArrays(op));
  if (type === "uuid") return scalar.filter((op) => isNullTest(op) || isList(op) || op === "eq" || op === "ne");
  if (type === "boolean") return scalar.filter((op) => isNullTest(op) || op === "eq" || op === "ne");
  if (type !== undefined && type !== "string") return scalar.filter((op) => op !== "like" && op !== "ilike");
  return scalar;
}
