// Changes of a query by clicks. Each function takes a tree and returns a new one.

import { entityOf, firstField, relationOf, type Schema } from "../schema";
import { emptyNode, isObject, newQuery, NO_SPAN, nodeAt, type Node, type Query, type Value } from "./tree";

/** Whether a field or relation is selected in the node at the path `refs`. */
export function isSelected(query: Query | undefined, entity: string, refs: readonly string[], name: string): boolean {
  if (query?.entity !== entity) return false;
  return nodeAt(query, refs)?.select.some((one) => one.name === name) ?? false;
}

/**
 * Adds a field or relation in the node at the path `refs`, with the relations on the path, or removes it. A relation
 * without fields is removed, too. If the query is of another entity, it is replaced.
 */
export function toggle(schema: Schema, query: Query | undefined, entity: string, refs: readonly string[], name: string): Query {
  const base = query?.entity === entity ? query : newQuery(entity);
  if (isSelected(base, entity, refs, name)) {
    return { ...base, root: remove(base.root, refs, name) };
  }
  return { ...base, root: add(schema, base.root, entity, refs, name) };
}

function add(schema: Schema, node: Node, entity: string, refs: readonly string[], name: string): Node {
  const [ref, ...rest] = refs;
  const target = (relation: string): string => relationOf(schema, entity, relation)?.entity ?? "";
  if (ref === undefined) {
    const relation = relationOf(schema, entity, name);
    const one = { name, span: NO_SPAN };
    if (!relation) return { ...node, select: [...node.select, one] };
    const field = firstField(entityOf(schema, relation.entity));
    const below = { ...emptyNode(), select: field ? [{ name: field, span: NO_SPAN }] : [] };
    return { ...node, select: [...node.select, { ...one, node: below }] };
  }
  const below = (old: Node): Node => add(schema, old, target(ref), rest, name);
  if (!node.select.some((one) => one.name === ref)) {
    return { ...node, select: [...node.select, { name: ref, span: NO_SPAN, node: below(emptyNode()) }] };
  }
  const select = node.select.map((one) => (one.name === ref ? { ...one, node: below(one.node ?? emptyNode()) } : one));
  return { ...node, select };
}

function remove(node: Node, refs: readonly string[], name: string): Node {
  const [ref, ...rest] = refs;
  if (ref === undefined) return { ...node, select: node.select.filter((one) => one.name !== name) };
  const select = node.select.flatMap((one) => {
    if (one.name !== ref || !one.node) return [one];
    const below = remove(one.node, rest, name);
    return below.select.length > 0 ? [{ ...one, node: below }] : [];
  });
  return { ...node, select };
}

/** Sets a control of a node; `undefined` removes it. */
export function setControl(query: Query, refs: readonly string[], control: string, value: Value | undefined): Query {
  const change = (node: Node, rest: readonly string[]): Node => {
    const [ref, ...below] = rest;
    if (ref === undefined) {
      const controls = { ...node.controls };
      if (value === undefined) delete controls[control];
      else controls[control] = value;
      return { ...node, controls };
    }
    const select = node.select.map((one) => (one.name === ref && one.node ? { ...one, node: change(one.node, below) } : one));
    return { ...node, select };
  };
  return { ...query, root: change(query.root, refs) };
}

/** Returns the query for the page after a cursor. */
export function withCursor(query: Query, after: string | null): Query {
  const page = query.root.controls["$page"];
  return setControl(query, [], "$page", { ...(isObject(page) ? page : {}), after });
}

/** Returns the query with the controls of another tree in nodes that have none. */
export function withControlsOf(query: Query, other: Query | undefined): Query {
  if (!other || other.entity !== query.entity) return query;
  const merge = (node: Node, from: Node | undefined): Node => ({
    ...node,
    controls: Object.keys(node.controls).length > 0 ? node.controls : (from?.controls ?? {}),
    select: node.select.map((one) => {
      const below = from?.select.find((old) => old.name === one.name)?.node;
      return one.node ? { ...one, node: merge(one.node, below) } : one;
    }),
  });
  return { ...query, root: merge(query.root, other.root) };
}
