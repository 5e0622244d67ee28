// The syntactic context at the cursor, from the text before it.

import type { Format } from "./tree";

export interface Spot {
  /** Keys from the root to the innermost object or list; `[]` stands for an element of a list. */
  path: string[];
  /** Whether a key or a value may stand here. */
  slot: "key" | "value";
  /** The key whose value is to come. */
  key?: string;
  /** Keys of the innermost object that come before. */
  before: string[];
  /** Where the word at the cursor begins, its opening quote included. */
  from: number;
  /** Whether a comma is missing before it, and after what. */
  comma?: number;
}

/** `undefined` where nothing can be completed. */
export function spotAt(format: Format, text: string, at: number): Spot | undefined {
  return format === "json" ? inJson(text, at) : inQl(text, at);
}

interface Frame {
  kind: "{" | "[";
  name: string;
  keys: string[];
  key?: string;
  /** Whether the key's value has begun or, in a list, an element has. */
  done: boolean;
  colon: boolean;
}

function inJson(text: string, at: number): Spot | undefined {
  const frames: Frame[] = [];
  let position = 0;
  let lastEnd = 0;
  let word: { from: number } | undefined;
  const top = (): Frame | undefined => frames.at(-1);
  while (position < at) {
    const char = text[position] as string;
    const frame = top();
    if (/\s/.test(char)) {
      position += 1;
    } else if (char === "{" || char === "[") {
      const name = frame ? (frame.kind === "[" ? "[]" : (frame.key ?? "")) : "";
      if (frame) frame.done = true;
      frames.push({ kind: char, name, keys: [], done: false, colon: false });
      position += 1;
      lastEnd = position;
    } else if (char === "}" || char === "]") {
      frames.pop();
      position += 1;
      lastEnd = position;
    } else if (char === ",") {
      if (frame) Object.assign(frame, { key: undefined, done: false, colon: false });
      position += 1;
      lastEnd = position;
    } else if (char === ":") {
      if (frame) frame.colon = true;
      position += 1;
      lastEnd = position;
    } else {
      const start = position;
      if (char === '"') {
        position += 1;
        while (position < text.length && text[position] !== '"' && text[position] !== "\n") position += text[position] === "\\" ? 2 : 1;
        if (text[position] === '"') position += 1;
      } else {
        while (position < text.length && /[\w$.+-]/.test(text[position] as string)) position += 1;
        if (position === start) position += 1;
      }
      if (position >= at && (char !== '"' || position > at || text[position - 1] !== '"' || position - start === 1)) {
        word = { from: start };
        break;
      }
      if (frame) {
        const token = text.slice(start, position).replaceAll('"', "");
        // After a whole member, another word begins a member whose comma is not there yet.
        if (frame.kind === "{" && (frame.key === undefined || frame.done)) {
          Object.assign(frame, { key: token, done: false, colon: false });
          frame.keys.push(token);
        } else {
          frame.done = true;
        }
      }
      lastEnd = position;
    }
  }
  const frame = top();
  if (!frame) return undefined;
  const from = word?.from ?? at;
  const path = frames.slice(1).map((one) => one.name);
  if (frame.kind === "[") {
    return frame.done ? undefined : { path, slot: "value", before: [], from };
  }
  if (frame.key !== undefined && !frame.done) {
    return frame.colon ? { path, slot: "value", key: frame.key, before: frame.keys, from } : undefined;
  }
  const spot: Spot = { path, slot: "key", before: frame.keys, from };
  return frame.done ? { ...spot, comma: lastEnd } : spot;
}

function inQl(text: string, at: number): Spot | undefined {
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
  // The entity may stand without braces of its own: `{ user id name }`.
  const bare = path.length === 0 && before.length > 0;
  const spot = bare ? { path: [before[0] as string], before: before.slice(1) } : { path, before };
  const word = /[A-Za-z_][A-Za-z0-9_]*$/.exec(text.slice(0, at));
  return { ...spot, slot: "key", from: word ? word.index : at };
}
