// A JSON parser that keeps positions and raw text, so that numbers stay exact.

export interface Span {
  from: number;
  to: number;
}
export interface Member {
  key: string;
  keyFrom: number;
  keyTo: number;
  value: Json;
}
export type Json =
  | (Span & { kind: "object"; members: Member[] })
  | (Span & { kind: "array"; items: Json[] })
  | (Span & { kind: "string"; value: string })
  | (Span & { kind: "number"; raw: string })
  | (Span & { kind: "word"; value: true | false | null });

/** The maximum depth, because the stack is finite. */
const DEPTH_MAX = 500;

export class JsonFault extends Error {}

/** Parses a whole text; throws a `JsonFault` if it is not JSON. */
export function parseJson(text: string): Json {
  let at = 0;

  function fail(message: string): never {
    throw new JsonFault(`${message} at ${at}`);
  }
  function space(): void {
    while (/[ \n\r\t]/.test(text.charAt(at))) at += 1;
  }
  function string(): string {
    const start = at;
    at += 1;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === 34) break;
      if (Number.isNaN(code) || code === 10) fail("text without its closing quote");
      at += code === 92 ? 2 : 1;
    }
    at += 1;
    try {
      return JSON.parse(text.slice(start, at)) as string;
    } catch {
      return fail("text with an unknown escape");
    }
  }
  /** Parses items that are separated by commas, and the brackets around them. */
  function list(end: string, item: () => void): void {
    at += 1;
    space();
    while (text[at] !== end) {
      item();
      space();
      if (text[at] === ",") {
        at += 1;
        space();
        if (text[at] === end) fail("a comma with nothing after it");
      } else if (text[at] !== end) fail("a comma or a closing bracket is missing here");
    }
    at += 1;
  }
  function value(depth: number): Json {
    if (depth > DEPTH_MAX) fail("nested too deep");
    const from = at;
    const first = text[at];
    if (first === "{") {
      const members: Member[] = [];
      list("}", () => {
        if (text[at] !== '"') fail("a key in quotes is missing here");
        const keyFrom = at;
        const key = string();
        const keyTo = at;
        space();
        if (text[at] !== ":") fail("a colon is missing here");
        at += 1;
        space();
        members.push({ key, keyFrom, keyTo, value: value(depth + 1) });
      });
      return { kind: "object", members, from, to: at };
    }
    if (first === "[") {
      const items: Json[] = [];
      list("]", () => items.push(value(depth + 1)));
      return { kind: "array", items, from, to: at };
    }
    if (first === '"') return { kind: "string", value: string(), from, to: at };
    const rest = /^(?:-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/.exec(text.slice(at, at + 400));
    if (!rest) return fail("a value is missing here");
    at += rest[0].length;
    if (rest[0] === "true" || rest[0] === "false" || rest[0] === "null") {
      return { kind: "word", value: JSON.parse(rest[0]) as boolean | null as true | false | null, from, to: at };
    }
    return { kind: "number", raw: rest[0], from, to: at };
  }

  space();
  const whole = value(0);
  space();
  if (at < text.length) fail("nothing more is expected here");
  return whole;
}

/** Returns the value of a key; `undefined` if this is no object or does not have the key. */
export function member(json: Json | undefined, key: string): Json | undefined {
  return json?.kind === "object" ? json.members.find((member) => member.key === key)?.value : undefined;
}

interface Brackets {
  open: string;
  close: string;
  /** The values between the brackets, each with the text before it. */
  items: [string, Json][];
}

/** Formats a value over lines, with every scalar as it is in the source. */
export function formatJson(json: Json, source: string, width = 72): string {
  const lines: string[] = [];
  const brackets = (value: Json): Brackets | undefined => {
    if (value.kind === "array") return { open: "[", close: "]", items: value.items.map((item) => ["", item]) };
    if (value.kind !== "object") return undefined;
    return { open: "{ ", close: " }", items: value.members.map((one) => [`${source.slice(one.keyFrom, one.keyTo)}: `, one.value]) };
  };
  /** Formats a value on one line; `null` if it is too long. */
  const flat = (value: Json): string | null => {
    const inner = brackets(value);
    if (!inner) return source.slice(value.from, value.to);
    const { open, close, items } = inner;
    if (items.length === 0) return open.trim() + close.trim();
    if (value.to - value.from > 4 * width) return null;
    const texts = items.map(([before, item]) => [before, flat(item)]);
    return texts.some(([, text]) => text === null) ? null : open + texts.map((text) => text.join("")).join(", ") + close;
  };
  const put = (value: Json, indent: string, before: string, after: string): void => {
    const inner = brackets(value);
    const short = value === json && inner && inner.items.length > 0 ? null : flat(value);
    if (!inner || inner.items.length === 0 || (short !== null && indent.length + before.length + short.length <= width)) {
      lines.push(indent + before + (short ?? "") + after);
      return;
    }
    const { open, close, items } = inner;
    lines.push(indent + before + open.trim());
    items.forEach(([key, item], index) => put(item, `${indent}  `, key, index + 1 < items.length ? "," : ""));
    lines.push(indent + close.trim() + after);
  };
  put(json, "", "", "");
  return lines.join("\n");
}
