// The query tree for both formats, with the positions of its parts.

import type { Place } from "./json";

export type Format = "json" | "ql";

/** A number that a double cannot hold, or is written in another way; kept as its text. */
export class RawNumber {
  constructor(readonly raw: string) {}
}
export type Value = string | number | boolean | null | RawNumber | Value[] | { [key: string]: Value };

export function isObject(value: Value | undefined): value is { [key: string]: Value } {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof RawNumber);
}

/** The keys of a read node besides `$select`, as they stand in JSON. */
export type Controls = { [control: string]: Value };

export interface Selection {
  name: string;
  /** Where the name stands, quotes aside. */
  place: Place;
  /** The nested node of a relation. */
  node?: Node;
}
export interface Node {
  select: Selection[];
  controls: Controls;
  place: Place;
}
export interface Query {
  entity: string;
  place: Place;
  root: Node;
}

export const NOWHERE: Place = { from: 0, to: 0 };

export function emptyNode(): Node {
  return { select: [], controls: {}, place: NOWHERE };
}

export function newQuery(entity: string): Query {
  return { entity, place: NOWHERE, root: emptyNode() };
}

/** The node that these refs lead to from the root. */
export function nodeAt(query: Query, refs: readonly string[]): Node | undefined {
  let node: Node | undefined = query.root;
  for (const ref of refs) node = node?.select.find((one) => one.name === ref)?.node;
  return node;
}

/** All nodes with the refs that lead to them, parents first. */
export function nodes(query: Query): { refs: string[]; node: Node }[] {
  const found: { refs: string[]; node: Node }[] = [];
  const walk = (node: Node, refs: string[]): void => {
    found.push({ refs, node });
    for (const one of node.select) if (one.node) walk(one.node, [...refs, one.name]);
  };
  walk(query.root, []);
  return found;
}

export function hasControls(query: Query): boolean {
  return nodes(query).some(({ node }) => Object.keys(node.controls).length > 0);
}
