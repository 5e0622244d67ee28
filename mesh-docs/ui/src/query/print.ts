// Formatting of a query tree as text in either format.

import { isObject, RawNumber, type Format, type Node, type Query, type Selection, type Value } from "./tree";

/** The maximum length of a line of the selection. */
const WIDTH = 58;
/** The maximum length of a line of a control. */
const WIDE = 78;

/** Prints a query. The brace format omits its controls, and has the names that aliases are of. */
export function printQuery(format: Format, query: Query): string {
  if (format === "ql") return `{\n  ${query.entity} ${printQl(query.root, "  ")}\n}\n`;
  const root = printNode(query.root, "  ", true);
  return `{\n  ${JSON.stringify(query.entity)}: ${root}\n}\n`;
}

/** Prints a query on one line, for headers. */
export function printCompact(query: Query): string {
  const node = (one: Node, of?: string): string => {
    const select = one.select.map((s) => `${JSON.stringify(s.name)}:${s.node ? node(s.node, s.of) : printLeaf(s, "")}`);
    const controls = Object.entries(one.controls).map(([key, value]) => `,${JSON.stringify(key)}:${printFlat(value, "")}`);
    const relation = of === undefined ? "" : `"$relation":${JSON.stringify(of)},`;
    return `{${relation}"$select":{${select.join(",")}}${controls.join("")}}`;
  };
  return `{${JSON.stringify(query.entity)}:${node(query.root)}}`;
}

function printLeaf({ of, at }: Selection, space: string): string {
  return of === undefined ? "true" : printFlat(at === undefined ? { $field: of } : { $field: of, at }, space);
}

function printQl(node: Node, indent: string): string {
  const members = new Map<string, string>();
  for (const { name, of = name, node: below } of node.select) {
    // Aggregates of a relation have no selection.
    if (!members.has(of) && below?.select.length !== 0) members.set(of, below ? ` ${printQl(below, `${indent}  `)}` : "");
  }
  const lines = [...members].map(([name, below]) => `${indent}  ${name}${below}\n`);
  return `{\n${lines.join("")}${indent}}`;
}

function printNode(node: Node, indent: string, open: boolean, key = 0, of?: string): string {
  const inner = `${indent}  `;
  const select = node.select.map((one) => {
    const key = `${JSON.stringify(one.name)}: `;
    return key + (one.node ? printNode(one.node, `${inner}  `, false, key.length, one.of) : printLeaf(one, " "));
  });
  const controls = Object.entries(node.controls).map(([key, value]) => `${JSON.stringify(key)}: ${printValue(value, inner)}`);
  const relation = of === undefined ? [] : [`"$relation": ${JSON.stringify(of)}`];
  const selected = select.length === 0 ? "{}" : `{ ${select.join(", ")} }`;
  const short = `{ ${[...relation, `"$select": ${selected}`, ...controls].join(", ")} }`;
  if (!open && !short.includes("\n") && indent.length + key + short.length <= WIDTH) return short;
  const flat = `{ ${select.join(", ")} }`;
  const list =
    select.length === 0
      ? "{}"
      : !open && !flat.includes("\n") && inner.length + 11 + flat.length <= WIDTH
        ? flat
        : `{\n${select.map((one) => `${inner}  ${one}`).join(",\n")}\n${inner}}`;
  const parts = [...relation, `"$select": ${list}`, ...controls];
  return `{\n${parts.map((part) => inner + part).join(",\n")}\n${indent}}`;
}

/** Prints a value as JSON: on one line if it fits, else on several. */
function printValue(value: Value, indent: string): string {
  const short = printFlat(value, " ");
  if (indent.length + short.length <= WIDE || typeof value !== "object" || value === null || value instanceof RawNumber) return short;
  const inner = `${indent}  `;
  const lines = Array.isArray(value)
    ? value.map((item) => printValue(item, inner))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${printValue(item, inner)}`);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${lines.map((line) => inner + line).join(",\n")}\n${indent}${close}`;
}

/** Prints a value on one line, with a space, or nothing, between its parts. */
export function printFlat(value: Value, space: string): string {
  if (value instanceof RawNumber) return value.raw;
  if (Array.isArray(value)) return `[${value.map((item) => printFlat(item, space)).join(`,${space}`)}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${space}${printFlat(item, space)}`);
  return members.length === 0 ? "{}" : `{${space}${members.join(`,${space}`)}${space}}`;
}
