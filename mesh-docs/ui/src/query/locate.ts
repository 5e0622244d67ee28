// The position in the text that an error refers to.

import { readQuery } from "./read";
import { nodeAt, type Format } from "./tree";
import type { Span } from "./json";

export interface Fault {
  message: string;
  path?: string;
  line?: number;
  column?: number;
}

/** Whether a parameter has no value, which is no fault of the query. */
export function isMissingValue({ message }: Fault): boolean {
  return /^The parameter '[^']*' has no value/.test(message);
}

/** Returns the part of the text to underline. */
export function locate(format: Format, text: string, fault: Fault): Span {
  const param = /parameter '(\w+)'/.exec(fault.message)?.[1];
  const place = param === undefined ? null : new RegExp(`"\\$param"\\s*:\\s*("${param}")`, "d").exec(text)?.indices?.[1];
  if (place) return { from: place[0], to: place[1] };
  if (fault.line !== undefined && fault.column !== undefined) {
    return tokenAt(text, offsetOf(text, fault.line, fault.column));
  }
  const query = readQuery(format, text);
  if (!query) return { from: 0, to: text.length };
  const names = [...fault.message.matchAll(/'([^']*)'/g)].map((match) => match[1] ?? "");
  const [, ...refs] = (fault.path ?? "").split(".");
  const node = nodeAt(query, refs);
  if (!fault.path || !node) return query.span;
  for (const name of names) {
    const selected = node.select.find((one) => one.name === name);
    if (selected && !fault.message.includes("$")) return selected.span;
  }
  for (const name of [...names, ...(fault.message.match(/\$[a-zA-Z]+/g) ?? [])]) {
    const found = occurrence(text, node.span, name);
    if (found) return found;
  }
  const parent = nodeAt(query, refs.slice(0, -1));
  return parent?.select.find(({ name }) => name === refs.at(-1))?.span ?? query.span;
}

/** Returns the last occurrence of a name in quotes, because controls follow the selection. */
function occurrence(text: string, within: Span, name: string): Span | undefined {
  if (!name) return undefined;
  const at = text.slice(within.from, within.to).lastIndexOf(JSON.stringify(name));
  return at < 0 ? undefined : { from: within.from + at + 1, to: within.from + at + 1 + name.length };
}

/** Converts a 1-based line and column, which counts characters, to an offset in UTF-16 units. */
function offsetOf(text: string, line: number, column: number): number {
  const lines = text.split("\n");
  const last = lines[line - 1];
  if (last === undefined) return text.length;
  const before = [...lines.slice(0, line - 1), [...last].slice(0, Math.max(0, column - 1)).join("")];
  return before.join("\n").length;
}

function tokenAt(text: string, at: number): Span {
  if (at >= text.trimEnd().length) {
    // An error at the end underlines the last character.
    const end = text.trimEnd().length;
    return { from: Math.max(0, end - 1), to: end };
  }
  const rest = text.slice(at);
  const token = /^(?:"(?:[^"\\\n]|\\.)*"?|[\w$.+-]+|\S)/.exec(rest);
  return { from: at, to: at + (token ? token[0].length : 1) };
}
