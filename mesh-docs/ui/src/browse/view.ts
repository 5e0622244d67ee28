// What the data browser shows of an entity, and the query for it.

import { writeFilter, type Filter } from "../query/filter";
import type { Json } from "../query/json";
import { member } from "../query/json";
import { emptyNode, newQuery, NO_SPAN, type Node, type Query, type Selection, type Value } from "../query/tree";
import { entityOf, idFields, starterFields, type Entity, type Relation, type Schema } from "../schema";
import { allColumns, labelOf, type BrowseColumn } from "./columns";

export interface Order {
  field: string;
  direction: "asc" | "desc";
}

export interface View {
  entity: string;
  /** The names of the shown columns. */
  columns: string[];
  order: Order[];
  /** Conditions that all hold. */
  filters: Filter[];
}

/** A page: forward from a cursor, a number of rows or the beginning, or backward from a cursor or from the end. */
export interface Page {
  direction: "forward" | "backward";
  cursor: string | null;
  /** The number of rows to leave out at the beginning. */
  skip?: number;
  /** The number of rows before the page. */
  offset: number;
}

export const FIRST_PAGE: Page = { direction: "forward", cursor: null, offset: 0 };
/** Rows of a page. */
export const PAGE_SIZE = 50;
/** Related records that are shown in a row or a panel. */
export const RELATED_SIZE = 20;

export function leaf(name: string): Selection {
  return { name, span: NO_SPAN };
}

export function shownColumns(schema: Schema, view: View): BrowseColumn[] {
  const entity = entityOf(schema, view.entity);
  return entity ? allColumns(schema, entity).filter(({ name }) => view.columns.includes(name)) : [];
}

/** Returns the selection of a related record: what identifies and describes it. */
export function selectOne(schema: Schema, relation: Relation): Selection {
  const names = [...new Set([...idFields(entityOf(schema, relation.entity)), labelOf(schema, relation)])];
  return { ...leaf(relation.name), node: { ...emptyNode(), select: names.filter(Boolean).map(leaf) } };
}

/** Returns the node of related records, with the fields that a new query of their entity selects. */
export function relatedNode(schema: Schema, relation: Relation): Node {
  const target = entityOf(schema, relation.entity);
  const fields = target ? [...new Set([...starterFields(target), ...target.fields.filter(({ type }) => type !== "binary" && type !== "json").map(({ name }) => name)])].slice(0, 6) : [];
  return { ...emptyNode(), select: fields.map(leaf), controls: { $page: { first: RELATED_SIZE } } };
}

function selections(schema: Schema, entity: Entity, columns: readonly BrowseColumn[]): Selection[] {
  const names = new Set(idFields(entity));
  for (const column of columns) if (column.kind === "field") names.add(column.name);
  // Fields keep the order of the schema.
  const fields = entity.fields.filter(({ name }) => names.has(name)).map(({ name }) => leaf(name));
  const relations = columns.flatMap((column): Selection[] => {
    if (column.kind === "field") return column.link ? [selectOne(schema, column.link)] : [];
    if (column.kind === "one") return [selectOne(schema, column.relation)];
    const node: Node = { ...emptyNode(), controls: { $aggregate: { count: { fn: "count" } } } };
    return [{ ...leaf(column.alias), of: column.relation.name, node }];
  });
  return [...fields, ...relations];
}

/** Returns the controls for filters and order. */
function rootControls({ filters, order }: View): Node["controls"] {
  const [only] = filters;
  const where = filters.length > 1 ? writeFilter({ kind: "and", items: filters }) : only && writeFilter(only);
  return {
    ...(where !== undefined && { $where: where }),
    ...(order.length > 0 && { $orderBy: order.map(({ field, direction }): Value => ({ field, direction })) }),
  };
}

/** Returns the query for a page of a view. */
export function pageQuery(schema: Schema, view: View, page: Page, withTotal: boolean): Query | undefined {
  const entity = entityOf(schema, view.entity);
  if (!entity) return undefined;
  const [size, cursor] = page.direction === "forward" ? ["first", "after"] : ["last", "before"];
  const pageControl: Value = { [size]: PAGE_SIZE, ...(page.cursor !== null && { [cursor]: page.cursor }), ...(page.skip !== undefined && { skip: page.skip }), ...(withTotal && { total: true }) };
  const select = selections(schema, entity, shownColumns(schema, view));
  return { ...newQuery(view.entity), root: { ...emptyNode(), select, controls: { ...rootControls(view), $page: pageControl } } };
}

/** Returns the query of all rows, for a download. */
export function exportQuery(schema: Schema, view: View): Query | undefined {
  const entity = entityOf(schema, view.entity);
  return entity && { ...newQuery(view.entity), root: { ...emptyNode(), select: selections(schema, entity, shownColumns(schema, view)), controls: rootControls(view) } };
}

/** Returns the query of one record with its fields and relations. */
export function recordQuery(schema: Schema, entity: Entity): Query {
  const select = entity.joins.map((relation): Selection => {
    return relation.type === "one" ? selectOne(schema, relation) : { ...leaf(relation.name), node: relatedNode(schema, relation) };
  });
  return { ...newQuery(entity.name), root: { ...emptyNode(), select: [...entity.fields.map(({ name }) => leaf(name)), ...select] } };
}

/** Returns the id of a record as text; `undefined` if the record does not have it. */
export function idOf(entity: Entity | undefined, record: Json | undefined): string | undefined {
  const parts = idFields(entity).map((name) => {
    const json = member(record, name);
    return json?.kind === "string" ? json.value : json?.kind === "number" ? json.raw : undefined;
  });
  return parts.length > 0 && parts.every((part) => part !== undefined) ? parts.join(",") : undefined;
}
