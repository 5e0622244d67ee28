// Parsing of text in either format into a query tree.

import { JsonFault, parseJson, type Json } from "./json";
import { RawNumber, type Format, type Node, type Query, type Selection, type Value } from "./tree";

/** Reads a text; `undefined` where it is no query. Says nothing about the schema. */
export function readQuery(format: Format, text: string): Query | undefined {
  return format === "json" ? readJson(text) : readQl(text);
}

function readJson(text: string): Query | undefined {
  let json: Json;
  try {
    json = parseJson(text);
  } catch (fault) {
    if (fault instanceof JsonFault) return undefined;
    throw fault;
  }
  if (json.kind !== "object" || json.members.length !== 1) return undefined;
  const [root] = json.members;
  const node = root && readNode(root.value);
  if (!root || !node) return undefined;
  return { entity: root.key, place: { from: root.keyFrom + 1, to: root.keyTo - 1 }, root: node };
}

function readNode(json: Json): Node | undefined {
  if (json.kind !== "object") return undefined;
  const node: Node = { select: [], controls: {}, place: { from: json.from, to: json.to } };
  for (const { key, value } of json.members) {
    if (key !== "$select") {
      node.controls[key] = plain(value);
      continue;
    }
    if (value.kind !== "object") return undefined;
    for (const one of value.members) {
      const place = { from: one.keyFrom + 1, to: one.keyTo - 1 };
      const selection: Selection = { name: one.key, place };
      if (one.value.kind === "object") {
        const inner = readNode(one.value);
        if (!inner) return undefined;
        selection.node = inner;
      }
      node.select.push(selection);
    }
  }
  return node;
}

/** A value without its places. */
export function plain(json: Json): Value {
  switch (json.kind) {
    case "object":
      return Object.fromEntries(json.members.map(({ key, value }) => [key, plain(value)]));
    case "array":
      return json.items.map(plain);
    case "number":
      return String(Number(json.raw)) === json.raw ? Number(json.raw) : new RawNumber(json.raw);
    default:
      return json.value;
  }
}

function readQl(text: string): Query | undefined {
  const tokens = [...text.matchAll(/[A-Za-z_][A-Za-z0-9_]*|[{}]|\S/g)];
  let next = 0;
  const peek = (): string | undefined => tokens[next]?.[0];
  const isName = (token: string | undefined): boolean => token !== undefined && /^[A-Za-z_]/.test(token);
  const placeOf = (index: number): { from: number; to: number } => {
    const token = tokens[index];
    return token ? { from: token.index, to: token.index + token[0].length } : { from: text.length, to: text.length };
  };
  const items = (from: number): Node | undefined => {
    const select: Selection[] = [];
    while (isName(peek())) {
      const selection: Selection = { name: peek() as string, place: placeOf(next) };
      next += 1;
      if (peek() === "{") {
        const open = placeOf(next).from;
        next += 1;
        const inner = items(open);
        if (!inner) return undefined;
        selection.node = inner;
      }
      select.push(selection);
    }
    if (peek() !== "}" || select.length === 0) return undefined;
    const to = placeOf(next).to;
    next += 1;
    return { select, controls: {}, place: { from, to } };
  };
  if (peek() !== "{") return undefined;
  const outer = placeOf(0).from;
  next = 1;
  if (!isName(peek())) return undefined;
  const [entity, place] = [peek() as string, placeOf(next)];
  next += 1;
  let root: Node | undefined;
  if (peek() === "{") {
    const open = placeOf(next).from;
    next += 1;
    root = items(open);
    if (peek() !== "}") return undefined;
    next += 1;
  } else {
    root = items(outer);
  }
  return root && next === tokens.length ? { entity, place, root } : undefined;
}
