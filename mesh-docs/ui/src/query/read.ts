// Parsing of text in either format into a query tree.

import { JsonFault, member, parseJson, type Json, type Member, type Span } from "./json";
import { RawNumber, type Format, type Node, type Query, type Selection, type Value } from "./tree";

/** Parses a text without a schema; `undefined` if it is not a query. */
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
  return node && { entity: root.key, span: nameOf(root), root: node };
}

/** Returns the position of a key without its quotes. */
function nameOf({ keyFrom, keyTo }: Member): Span {
  return { from: keyFrom + 1, to: keyTo - 1 };
}

function readNode(json: Json): Node | undefined {
  if (json.kind !== "object") return undefined;
  const node: Node = { select: [], controls: {}, span: { from: json.from, to: json.to } };
  for (const { key, value } of json.members) {
    if (key !== "$select") {
      node.controls[key] = plain(value);
      continue;
    }
    if (value.kind !== "object") return undefined;
    for (const member of value.members) {
      const selected = readSelection(member);
      if (!selected) return undefined;
      node.select.push(selected);
    }
  }
  return node;
}

function readSelection(selected: Member): Selection | undefined {
  const { key: name, value } = selected;
  const one = { name, span: nameOf(selected) };
  if (value.kind !== "object") return one;
  const field = member(value, "$field");
  const at = member(value, "at");
  if (field?.kind === "string" && value.members.length === (at ? 2 : 1)) {
    if (!at) return { ...one, of: field.value };
    return at.kind === "string" ? { ...one, of: field.value, at: at.value } : undefined;
  }
  const node = readNode(value);
  if (!node) return undefined;
  const { $relation, ...controls } = node.controls;
  return typeof $relation === "string" ? { ...one, of: $relation, node: { ...node, controls } } : { ...one, node };
}

/** Returns a value without positions. */
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
  /** Consumes the next token if it matches. */
  const take = (pattern: RegExp): { name: string; span: Span } | undefined => {
    const token = tokens[next];
    if (!token || !pattern.test(token[0])) return undefined;
    next += 1;
    return { name: token[0], span: { from: token.index, to: token.index + token[0].length } };
  };
  /** Parses a node after its opening brace. */
  const node = (from: number): Node | undefined => {
    const select: Selection[] = [];
    for (let selection = take(/^\w/); selection; selection = take(/^\w/)) {
      const open = take(/\{/);
      const inner = open && node(open.span.from);
      if (open && !inner) return undefined;
      select.push(inner ? { ...selection, node: inner } : selection);
    }
    const close = take(/\}/);
    return close && select.length > 0 ? { select, controls: {}, span: { from, to: close.span.to } } : undefined;
  };
  const outer = take(/\{/);
  const entity = outer && take(/^\w/);
  if (!entity) return undefined;
  const open = take(/\{/);
  const root = node((open ?? outer).span.from);
  const isClosed = !open || take(/\}/) !== undefined;
  return root && isClosed && next === tokens.length ? { entity: entity.name, span: entity.span, root } : undefined;
}
