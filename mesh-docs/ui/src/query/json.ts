// A JSON parser that keeps positions and raw text, so that numbers stay exact.

export interface Place {
  from: number;
  to: number;
}
export interface Member extends Place {
  key: string;
  keyFrom: number;
  keyTo: number;
  value: Json;
}
export type Json =
  | (Place & { kind: "object"; members: Member[] })
  | (Place & { kind: "array"; items: Json[] })
  | (Place & { kind: "string"; value: string })
  | (Place & { kind: "number"; raw: string })
  | (Place & { kind: "word"; value: true | false | null });

/** Nesting past this is refused: nobody reads it, and the stack is finite. */
const DEPTH_MAX = 500;

export class JsonFault extends Error {
  constructor(readonly at: number, message: string) {
    super(message);
  }
}

/** Parses a whole text; throws a `JsonFault` with the place where it ends to be JSON. */
export function parseJson(text: string): Json {
  let at = 0;

  function fail(message: string): never {
    throw new JsonFault(at, message);
  }
  function space(): void {
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === 32 || code === 10 || code === 13 || code === 9) at += 1;
      else return;
    }
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
      at = start;
      return fail("text with an unknown escape");
    }
  }
  function value(depth: number): Json {
    if (depth > DEPTH_MAX) fail("nested too deep");
    const from = at;
    const first = text[at];
    if (first === "{") {
      at += 1;
      const members: Member[] = [];
      space();
      while (text[at] !== "}") {
        if (text[at] !== '"') fail("a key in quotes is missing here");
        const keyFrom = at;
        const key = string();
        const keyTo = at;
        space();
        if (text[at] !== ":") fail("a colon is missing here");
        at += 1;
        space();
        const inner = value(depth + 1);
        members.push({ key, keyFrom, keyTo, value: inner, from: keyFrom, to: at });
        space();
        if (text[at] === ",") {
          at += 1;
          space();
          if (text[at] === "}") fail("a comma with nothing after it");
        } else if (text[at] !== "}") fail("a comma or a closing brace is missing here");
      }
      at += 1;
      return { kind: "object", members, from, to: at };
    }
    if (first === "[") {
      at += 1;
      const items: Json[] = [];
      space();
      while (text[at] !== "]") {
        items.push(value(depth + 1));
        space();
        if (text[at] === ",") {
          at += 1;
          space();
          if (text[at] === "]") fail("a comma with nothing after it");
        } else if (text[at] !== "]") fail("a comma or a closing bracket is missing here");
      }
      at += 1;
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

/** The value of that key, if it is an object that has it. */
export function member(json: Json | undefined, key: string): Json | undefined {
  return json?.kind === "object" ? json.members.find((one) => one.key === key)?.value : undefined;
}

/** Lays a value out over lines, every scalar exactly as it came. */
export function layOut(json: Json, source: string, width = 72): string {
  const lines: string[] = [];
  const flat = (value: Json): string | null => {
    if (value.kind === "object") {
      if (value.to - value.from > 4 * width) return null;
      const parts: string[] = [];
      for (const one of value.members) {
        const text = flat(one.value);
        if (text === null) return null;
        parts.push(`${source.slice(one.keyFrom, one.keyTo)}: ${text}`);
      }
      return parts.length === 0 ? "{}" : `{ ${parts.join(", ")} }`;
    }
    if (value.kind === "array") {
      if (value.to - value.from > 4 * width) return null;
      const parts = value.items.map(flat);
      return parts.includes(null) ? null : `[${parts.join(", ")}]`;
    }
    return source.slice(value.from, value.to);
  };
  const put = (value: Json, indent: string, before: string, after: string, top: boolean): void => {
    const short = top ? null : flat(value);
    if (short !== null && indent.length + before.length + short.length <= width) {
      lines.push(indent + before + short + after);
    } else if (value.kind === "object" && value.members.length > 0) {
      lines.push(`${indent}${before}{`);
      value.members.forEach((one, index) => {
        const comma = index + 1 < value.members.length ? "," : "";
        put(one.value, `${indent}  `, `${source.slice(one.keyFrom, one.keyTo)}: `, comma, false);
      });
      lines.push(`${indent}}${after}`);
    } else if (value.kind === "array" && value.items.length > 0) {
      lines.push(`${indent}${before}[`);
      value.items.forEach((item, index) => {
        put(item, `${indent}  `, "", index + 1 < value.items.length ? "," : "", false);
      });
      lines.push(`${indent}]${after}`);
    } else {
      lines.push(`${indent}${before}${flat(value) ?? source.slice(value.from, value.to)}${after}`);
    }
  };
  put(json, "", "", "", true);
  return lines.join("\n");
}
