// The fields of a form, and the body of the write that they give.

import { formatJson, type Json } from "../query/json";

/** What is typed into a field; `null` is the value without one. */
export type Input = string | null;

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/;

/** Returns the text of a value in a form. */
export function inputOf(json: Json | undefined, source: string): Input {
  if (!json || (json.kind === "word" && json.value === null)) return null;
  if (json.kind === "string") return json.value;
  return json.kind === "array" || json.kind === "object" ? formatJson(json, source) : source.slice(json.from, json.to);
}

/** Returns an input as the text of a JSON value of a type. What is no value of the type is sent as text, for the server to refuse. */
export function literal(input: Input, type: string | undefined): string {
  if (input === null) return "null";
  const text = input.trim();
  if ((type === "integer" || type === "number") && NUMBER.test(text)) return text;
  if (type === "boolean" && (text === "true" || text === "false")) return text;
  if (type === "json" && isJson(text)) return text;
  return JSON.stringify(input);
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Returns the text of the body that sets these fields. `adapt` changes the text of a value. */
export function bodyOf(inputs: ReadonlyMap<string, Input>, typeOf: (name: string) => string | undefined, adapt = (_name: string, value: string): string => value): string {
  const members = [...inputs].map(([name, input]) => `  ${JSON.stringify(name)}: ${adapt(name, literal(input, typeOf(name)))}`);
  return members.length === 0 ? "{}" : `{\n${members.join(",\n")}\n}`;
}

/** Doubles the `$` at the beginning of strings in the text of a JSON value, which would be references in a batch. */
export function withoutReferences(json: string): string {
  return json.replaceAll(/("(?:[^"\\]|\\.)*")(\s*:)?/g, (all: string, token: string, colon?: string) => {
    const text = JSON.parse(token) as string;
    return colon === undefined && text.startsWith("$") ? JSON.stringify(`$${text}`) : all;
  });
}
