// Formatting of a query tree as text in either format.

import { RawNumber, type Format, type Node, type Query, type Value } from "./tree";

/** How long a line of the selection may get, and one of a control: conditions are best kept on one. */
const WIDTH = 58;
const WIDE = 78;

/** The text of a query. The brace format leaves its controls out. */
export function printQuery(format: Format, query: Query): string {
  if (format === "ql") return `{\n  ${query.entity} ${printQl(query.root, "  ")}\n}\n`;
  const root = printNode(query.root, "  ", true);
  return `{\n  ${JSON.stringify(query.entity)}: ${root}\n}\n`;
}

/** The text on one line, for headers. */
export function printCompact(query: Query): string {
  const node = (one: Node): string => {
    const select = one.select.map((s) => `${JSON.stringify(s.name)}:${s.node ? node(s.node) : "true"}`);
    const controls = Object.entries(one.controls).map(([key, value]) => `,${JSON.stringify(key)}:${compact(value)}`);
    return `{"$select":{${select.join(",")}}${controls.join("")}}`;
  };
  return `{${JSON.stringify(query.entity)}:${node(query.root)}}`;
}

function printQl(node: Node, indent: string): string {
  const lines = node.select.map((one) => {
    const below = one.node ? ` ${printQl(one.node, `${indent}  `)}` : "";
    return `${indent}  ${one.name}${below}\n`;
  });
  return `{\n${lines.join("")}${indent}}`;
}

function printNode(node: Node, indent: string, open: boolean, key = 0): string {
  const inner = `${indent}  `;
  const select = node.select.map((one) => {
    const key = `${JSON.stringify(one.name)}: `;
    return key + (one.node ? printNode(one.node, `${inner}  `, false, key.length) : "true");
  });
  const controls = Object.entries(node.controls).map(([key, value]) => `${JSON.stringify(key)}: ${printValue(value, inner)}`);
  const short = `{ ${[`"$select": { ${select.join(", ")} }`, ...controls].join(", ")} }`;
  if (!open && !short.includes("\n") && indent.length + key + short.length <= WIDTH) return short;
  const flat = `{ ${select.join(", ")} }`;
  const list =
    select.length === 0
      ? "{}"
      : !open && !flat.includes("\n") && inner.length + 11 + flat.length <= WIDTH
        ? flat
        : `{\n${select.map((one) => `${inner}  ${one}`).join(",\n")}\n${inner}}`;
  const parts = [`"$select": ${list}`, ...controls];
  return `{\n${parts.map((part) => inner + part).join(",\n")}\n${indent}}`;
}

/** A value in JSON: on one line where it fits, else over several. */
export function printValue(value: Value, indent = ""): string {
  const short = spaced(value);
  if (indent.length + short.length <= WIDE || typeof value !== "object" || value === null) return short;
  const inner = `${indent}  `;
  if (value instanceof RawNumber) return short;
  if (Array.isArray(value)) {
    return `[\n${value.map((one) => inner + printValue(one, inner)).join(",\n")}\n${indent}]`;
  }
  const members = Object.entries(value).map(([key, one]) => `${inner}${JSON.stringify(key)}: ${printValue(one, inner)}`);
  return `{\n${members.join(",\n")}\n${indent}}`;
}

function spaced(value: Value): string {
  if (value instanceof RawNumber) return value.raw;
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${spaced(one)}`);
    return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
  }
  return JSON.stringify(value);
}

function compact(value: Value): string {
  if (value instanceof RawNumber) return value.raw;
  if (Array.isArray(value)) return `[${value.map(compact).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}:${compact(one)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}
