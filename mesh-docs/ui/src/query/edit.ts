// Changes of a query by clicks. Each function takes a tree and returns a new one.

import { entityOf, firstField, relationOf, type Entity, type Schema } from "../schema";
import { asPointer, hasRelevance } from "./filter";
import { emptyNode, freeName, isObject, newQuery, NO_SPAN, nodeAt, type Node, type Query, type Selection, type Value } from "./tree";

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
  const target = (relation: string): string => {
    const of = node.select.find((one) => one.name === relation)?.of ?? relation;
    return relationOf(schema, entity, of)?.entity ?? "";
  };
  if (ref === undefined) return { ...node, select: [...node.select, selection(schema, entity, name)] };
  const below = (old: Node): Node => add(schema, old, target(ref), rest, name);
  if (!node.select.some((one) => one.name === ref)) {
    return { ...node, select: [...node.select, { name: ref, span: NO_SPAN, node: below(emptyNode()) }] };
  }
  const select = node.select.map((one) => (one.name === ref ? { ...one, node: below(one.node ?? emptyNode()) } : one));
  return { ...node, select };
}

/** Returns the selection of a field, or of a relation with one field. */
function selection(schema: Schema, entity: string, name: string): Selection {
  const relation = relationOf(schema, entity, name);
  const one = { name, span: NO_SPAN };
  if (!relation) return one;
  const field = firstField(entityOf(schema, relation.entity));
  return { ...one, node: { ...emptyNode(), select: field ? [{ name: field, span: NO_SPAN }] : [] } };
}

/** Adds an alias of a field or relation in the node at a path, or replaces the one named `old`. */
export function setAlias(schema: Schema, query: Query, refs: readonly string[], entity: Entity, of: string, old?: Selection): Query {
  return changeNode(query, refs, (node) => {
    const members = [...entity.fields, ...entity.joins].map(({ name }) => name);
    const others = node.select.filter((one) => one !== old).map(({ name }) => name);
    // A generated name follows the change.
    const isGenerated = !old || old.name.replace(/\d+$/, "") === old.of;
    const name = isGenerated ? freeName(of, [...members, ...others]) : old.name;
    const next = { ...selection(schema, entity.name, of), name, of };
    return { ...node, select: old ? node.select.map((one) => (one.name === old.name ? next : one)) : [...node.select, next] };
  });
}

/** Selects the part of an aliased field that a JSON Pointer leads to; all of the field for an empty text. */
export function setPlace(query: Query, refs: readonly string[], alias: string, place: string): Query {
  return changeNode(query, refs, (node) => ({
    ...node,
    select: node.select.map((one) => {
      const { at: _, ...whole } = one;
      return one.name !== alias ? one : place === "" ? whole : { ...whole, at: asPointer(place) };
    }),
  }));
}

/** Gives a selected name of the node at a path another name. */
export function rename(query: Query, refs: readonly string[], old: string, name: string): Query {
  return changeNode(query, refs, (node) => ({ ...node, select: node.select.map((one) => (one.name === old ? { ...one, name } : one)) }));
}

function remove(node: Node, refs: readonly string[], name: string): Node {
  const [ref, ...rest] = refs;
  if (ref === undefined) return { ...node, select: node.select.filter((one) => one.name !== name) };
  const select = node.select.flatMap((one) => {
    if (one.name !== ref || !one.node) return [one];
    const below = remove(one.node, rest, name);
    return below.select.length > 0 || below.controls["$aggregate"] !== undefined ? [{ ...one, node: below }] : [];
  });
  return { ...node, select };
}

/** Sets a control of a node; `undefined` removes it. */
export function setControl(query: Query, refs: readonly string[], control: string, value: Value | undefined): Query {
  return changeNode(query, refs, (node) => {
    const controls = { ...node.controls };
    if (value === undefined) delete controls[control];
    else controls[control] = value;
    return { ...node, controls };
  });
}

/** Sets the filter of a node. Without a search, the order by its relevance is removed. */
export function setWhere(query: Query, refs: readonly string[], where: Value | undefined): Query {
  const next = setControl(query, refs, "$where", where);
  const order = nodeAt(next, refs)?.controls["$orderBy"];
  if (!Array.isArray(order) || hasRelevance(where)) return next;
  const kept = order.filter((key) => !isObject(key) || key["search"] === undefined);
  return setControl(next, refs, "$orderBy", kept.length > 0 ? kept : undefined);
}

/** Changes the node at a path. */
export function changeNode(query: Query, refs: readonly string[], act: (node: Node) => Node): Query {
  const change = (node: Node, rest: readonly string[]): Node => {
    const [ref, ...below] = rest;
    if (ref === undefined) return act(node);
    const select = node.select.map((one) => (one.name === ref && one.node ? { ...one, node: change(one.node, below) } : one));
    return { ...node, select };
  };
  return { ...query, root: change(query.root, refs) };
}

/** Whether the pages of a query are read from its end. `SPEC §14.7` */
export function isBackward(query: Query | undefined): boolean {
  const page = query?.root.controls["$page"];
  return isObject(page) && page["last"] !== undefined;
}

/** Returns the query for the page after a cursor, or before it if pages are read from the end. */
export function withCursor(query: Query, cursor: string | null): Query {
  const page = query.root.controls["$page"];
  const key = isBackward(query) ? "before" : "after";
  const { skip: _, ...others } = isObject(page) ? page : {};
  return setControl(query, [], "$page", { ...others, [key]: cursor });
}

/** Whether the brace format omits a relation, because it selects nothing. */
function isUnprinted({ node }: Selection): boolean {
  return node?.select.length === 0;
}

/** Returns the query with the aliases of another tree, and with its controls in nodes that have none. */
export function withControlsOf(query: Query, other: Query | undefined): Query {
  if (!other || other.entity !== query.entity) return query;
  const merge = (node: Node, from: Node | undefined): Node => ({
    ...node,
    controls: Object.keys(node.controls).length > 0 ? node.controls : (from?.controls ?? {}),
    select: [
      ...node.select.flatMap((one) => {
        const named = from?.select.filter((old) => (old.of ?? old.name) === one.name && !isUnprinted(old)) ?? [];
        if (named.length === 0) return [one];
        // The first one was printed; the others are as they were.
        return named.map((old, index) => (index === 0 ? { ...old, ...(one.node && { node: merge(one.node, old.node) }) } : old));
      }),
      ...(from?.select.filter(isUnprinted) ?? []),
    ],
  });
  return { ...query, root: merge(query.root, other.root) };
}
