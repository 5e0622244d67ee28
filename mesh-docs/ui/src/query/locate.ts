// The position in the text that an error refers to.

import { readQuery } from "./read";
import { nodeAt, type Format } from "./tree";
import type { Place } from "./json";

export interface Fault {
  message: string;
  path?: string;
  line?: number;
  column?: number;
}

/** The part of the text to underline. */
export function locate(format: Format, text: string, fault: Fault): Place {
  if (fault.line !== undefined && fault.column !== undefined) {
    return tokenAt(text, offsetOf(text, fault.line, fault.column));
  }
  const query = readQuery(format, text);
  if (!query) return { from: 0, to: text.length };
  const names = [...fault.message.matchAll(/'([^']*)'/g)].map((match) => match[1] ?? "");
  const [, ...refs] = (fault.path ?? "").split(".");
  const node = nodeAt(query, refs);
  if (!fault.path || !node) return query.place;
  for (const name of names) {
    const selected = node.select.find((one) => one.name === name);
    if (selected && !fault.message.includes("$")) return selected.place;
  }
  for (const name of [...names, ...(fault.message.match(/\$[a-zA-Z]+/g) ?? [])]) {
    const found = occurrence(text, node.place, name);
    if (found) return found;
  }
  return refs.length === 0 ? query.place : (parentPlace() ?? query.place);

  function parentPlace(): Place | undefined {
    const parent = query && nodeAt(query, refs.slice(0, -1));
    return parent?.select.find((one) => one.name === refs.at(-1))?.place;
  }
}

/** The last place where a name stands in quotes: controls come after the selection. */
function occurrence(text: string, within: Place, name: string): Place | undefined {
  if (!name) return undefined;
  const at = text.slice(within.from, within.to).lastIndexOf(JSON.stringify(name));
  return at < 0 ? undefined : { from: within.from + at + 1, to: within.from + at + 1 + name.length };
}

/** Lines and columns count from 1; columns count characters, not UTF-16 units. */
export function offsetOf(text: string, line: number, column: number): number {
  let start = 0;
  for (let n = 1; n < line; n += 1) {
    const end = text.indexOf("\n", start);
    if (end < 0) return text.length;
    start = end + 1;
  }
  const rest = [...(text.slice(start).split("\n", 1)[0] ?? "")];
  return start + rest.slice(0, Math.max(0, column - 1)).join("").length;
}

function tokenAt(text: string, at: number): Place {
  if (at >= text.trimEnd().length) {
    // At the end there is nothing to underline but the last token.
    const end = text.trimEnd().length;
    return { from: Math.max(0, end - 1), to: end };
  }
  const rest = text.slice(at);
  const token = /^(?:"(?:[^"\\\n]|\\.)*"?|[\w$.+-]+|\S)/.exec(rest);
  return { from: at, to: at + (token ? token[0].length : 1) };
}
