// The query tree for both formats, with the positions of its parts.

import type { Span } from "./json";

export type Format = "json" | "ql";

/** The text of a number that a double cannot represent exactly as written. */
export class RawNumber {
  constructor(readonly raw: string) {}
}
export type Value = string | number | boolean | null | RawNumber | Value[] | { [key: string]: Value };

export function isObject(value: Value | undefined): value is { [key: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof RawNumber);
}

/** The members of a read node in JSON, except `$select`. */
export type Controls = { [control: string]: Value };

export interface Selection {
  /** The key of the value in the result. */
  name: string;
  /** The position of the name, without quotes. */
  span: Span;
  /** The field or relation that the name is an alias of. `SPEC §14.4` */
  of?: string;
  /** The JSON Pointer to a part of the field. `SPEC §22.1` */
  at?: string;
  /** The nested node of a relation. */
  node?: Node;
}
export interface Node {
  select: Selection[];
  controls: Controls;
  span: Span;
}
export interface Query {
  entity: string;
  span: Span;
  root: Node;
}

export const NO_SPAN: Span = { from: 0, to: 0 };

export function emptyNode(): Node {
  return { select: [], controls: {}, span: NO_SPAN };
}

export function newQuery(entity: string): Query {
  return { entity, span: NO_SPAN, root: emptyNode() };
}

/** Returns the node at the end of a path of relations from the root. */
export function nodeAt(query: Query, refs: readonly string[]): Node | undefined {
  let node: Node | undefined = query.root;
  for (const ref of refs) node = node?.select.find((one) => one.name === ref)?.node;
  return node;
}

/** Returns all nodes with their paths, parents first. */
export function nodes(query: Query): { refs: string[]; node: Node }[] {
  const found: { refs: string[]; node: Node }[] = [];
  const walk = (node: Node, refs: string[]): void => {
    found.push({ refs, node });
    for (const one of node.select) if (one.node) walk(one.node, [...refs, one.name]);
  };
  walk(query.root, []);
  return found;
}

/** Whether a query has controls or aliases, which the brace format cannot express. */
export function needsJson(query: Query): boolean {
  return nodes(query).some(({ node }) => Object.keys(node.controls).length > 0 || node.select.some(({ of }) => of !== undefined));
}

/** Returns the name of the parameter that stands in place of a value. `SPEC §19.1` */
export function paramName(value: Value | undefined): string | undefined {
  const name = isObject(value) ? value["$param"] : undefined;
  return typeof name === "string" ? name : undefined;
}

/** Returns a name that is not taken: the wanted one, or that with a number. */
export function freeName(wanted: string, taken: readonly string[]): string {
  let name = wanted;
  for (let n = 2; taken.includes(name); n += 1) name = wanted + n;
  return name;
}
