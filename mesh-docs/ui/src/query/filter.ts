// `$where` as a tree of groups and conditions for forms, and back.

import { isObject, RawNumber, type Value } from "./tree";

export type Filter = Group | Condition;
export interface Group {
  kind: "and" | "or" | "not";
  items: Filter[];
}
export interface Condition {
  kind: "condition";
  field: string;
  op: string;
  value: Value | undefined;
}

export function isNullTest(op: string): boolean {
  return op === "isNull" || op === "isNotNull";
}

export function isList(op: string): boolean {
  return op === "in" || op === "nin";
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
  const { field, op } = value;
  if (typeof field !== "string" || typeof op !== "string") return undefined;
  return { kind: "condition", field, op, value: value["value"] };
}

/** Converts a filter to JSON; an empty group to `undefined`. */
export function writeFilter(filter: Filter): Value | undefined {
  if (filter.kind === "condition") {
    const { field, op, value } = filter;
    return isNullTest(op) ? { field, op } : { field, op, value: value ?? "" };
  }
  const items = filter.items.map(writeFilter).filter((item): item is Value => item !== undefined);
  if (items.length === 0) return undefined;
  if (filter.kind === "not") return { not: items.length === 1 ? (items[0] as Value) : { and: items } };
  return { [filter.kind]: items };
}

/** Parses the text of a form as a value of a type. Elements of lists are separated by commas. */
export function parseValue(text: string, type: string | undefined, op: string): Value {
  if (isList(op)) {
    const parts = text.split(",").map((part) => part.trim());
    return parts.filter((part) => part !== "").map((part) => parseOne(part, type));
  }
  return parseOne(text, type);
}

function parseOne(text: string, type: string | undefined): Value {
  if (type === "boolean" && (text === "true" || text === "false")) return text === "true";
  const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);
  if (isNumber && (type === "integer" || type === "number")) {
    return String(Number(text)) === text ? Number(text) : new RawNumber(text);
  }
  return text;
}

/** Formats a value for a form. */
export function showValue(value: Value | undefined): string {
  if (value === undefined || value === null) return "";
  if (value instanceof RawNumber) return value.raw;
  if (Array.isArray(value)) return value.map(showValue).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Returns the operators that a type supports. `SPEC §3.7` */
export function operatorsFor(type: string | undefined, all: readonly string[]): string[] {
  if (type === "json" || type === "binary") return all.filter(isNullTest);
  if (type === "uuid") return all.filter((op) => isNullTest(op) || isList(op) || op === "eq" || op === "ne");
  if (type === "boolean") return all.filter((op) => isNullTest(op) || op === "eq" || op === "ne");
  if (type !== undefined && type !== "string") return all.filter((op) => op !== "like" && op !== "ilike");
  return [...all];
}
