// The syntactic context at the cursor, from the text before it.

import type { Format } from "./tree";

export interface CursorContext {
  /** Keys from the root to the innermost object or list; `[]` is an element of a list. */
  path: string[];
  /** For each part of the path, the relation that a member of its object names: `relation` or `$relation`. */
  relations: (string | undefined)[];
  /** Whether a key or a value is expected. */
  slot: "key" | "value";
  /** The key whose value is expected. */
  key?: string;
  /** The preceding keys of the innermost object. */
  before: string[];
  /** The beginning of the word at the cursor, including its opening quote. */
  from: number;
  /** Where a comma is missing before the word. */
  comma?: number;
}

/** Returns the context at a position; `undefined` if nothing can be completed there. */
export function contextAt(format: Format, text: string, at: number): CursorContext | undefined {
  return format === "json" ? inJson(text, at) : inQl(text, at);
}

/** An open object or list. */
interface Frame {
  isList: boolean;
  name: string;
  keys: string[];
  key?: string | undefined;
  relation?: string;
  /** Whether the value of the key, or an element of the list, has begun. */
  done: boolean;
  colon: boolean;
}

function inJson(text: string, at: number): CursorContext | undefined {
  const frames: Frame[] = [];
  let lastEnd = 0;
  let from = at;
  for (const { 0: token, index } of text.matchAll(/"(?:\\[^]?|[^"\\\n])*"?|[\w$.+-]+|\S/g)) {
    const end = index + token.length;
    if (index >= at) break;
    const frame = frames.at(-1);
    if (token === "{" || token === "[") {
      const name = frame?.isList ? "[]" : (frame?.key ?? "");
      if (frame) frame.done = true;
      frames.push({ isList: token === "[", name, keys: [], done: false, colon: false });
    } else if (token === "}" || token === "]") {
      frames.pop();
    } else if (token === ",") {
      if (frame) Object.assign(frame, { key: undefined, done: false, colon: false });
    } else if (token === ":") {
      if (frame) frame.colon = true;
    } else if (end >= at && !(end === at && /^".*"$/s.test(token))) {
      from = index;
      break;
    } else if (frame && !frame.isList && (frame.key === undefined || frame.done)) {
      // A word after a complete member begins another member, even if the comma is missing.
      const key = token.replaceAll('"', "");
      Object.assign(frame, { key, done: false, colon: false });
      frame.keys.push(key);
    } else if (frame) {
      if (frame.key === "relation" || frame.key === "$relation") frame.relation = token.replaceAll('"', "");
      frame.done = true;
    }
    lastEnd = end;
  }
  const frame = frames.at(-1);
  if (!frame) return undefined;
  const path = frames.slice(1).map(({ name }) => name);
  const relations = frames.slice(1).map(({ relation }) => relation);
  if (frame.isList) return frame.done ? undefined : { path, relations, slot: "value", before: [], from };
  if (frame.key !== undefined && !frame.done) {
    return frame.colon ? { path, relations, slot: "value", key: frame.key, before: frame.keys, from } : undefined;
  }
  return { path, relations, slot: "key", before: frame.keys, from, ...(frame.done && { comma: lastEnd }) };
}

function inQl(text: string, at: number): CursorContext | undefined {
  const path: string[] = [];
  const levels: string[][] = [];
  let last = "";
  for (const match of text.slice(0, at).matchAll(/[A-Za-z_][A-Za-z0-9_]*|[{}]/g)) {
    if (match.index + match[0].length === at && match[0] !== "{" && match[0] !== "}") break;
    if (match[0] === "{") {
      if (levels.length > 0) path.push(last);
      levels.push([]);
    } else if (match[0] === "}") {
      levels.pop();
      path.pop();
    } else {
      last = match[0];
      levels.at(-1)?.push(last);
    }
  }
  if (levels.length === 0) return undefined;
  const before = levels.at(-1) ?? [];
  // The braces of the entity may be omitted: `{ user id name }`.
  const bare = path.length === 0 && before.length > 0;
  const spot = bare ? { path: [before[0] as string], before: before.slice(1) } : { path, before };
  const word = /[A-Za-z_][A-Za-z0-9_]*$/.exec(text.slice(0, at));
  return { ...spot, relations: [], slot: "key", from: word ? word.index : at };
}
