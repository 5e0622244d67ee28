// The layout of the diagram: columns of boxes, ordered so that edges are short and cross little. An edge that passes a column has
// a bend there, which takes part in the order of its boxes, so that no edge runs behind a box.

import type { Edge } from "./edges";

export interface Box {
  name: string;
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface Layout {
  boxes: Map<string, Box>;
  /** The path of each edge by its id. */
  paths: Map<string, string>;
  width: number;
  height: number;
}

interface Size {
  name: string;
  width: number;
  height: number;
}

/** Between columns of boxes with fields, and of boxes with names only. */
const GAP_X = 90;
const GAP_X_NAMES = 56;
const GAP_Y = 22;
/** Between a bend and what is next to it in its column. */
const GAP_BEND = 10;
const MARGIN = 24;
/** How much the boxes are drawn to the middle of the picture, so that groups without a link to others are near. */
const GRAVITY = 0.15;
/** Sweeps over the columns that improve their order. */
const SWEEPS = 12;

/**
 * Returns the column of each box: those that refer to nothing are first, others are after the ones that they refer to. An edge
 * that closes a cycle is ignored.
 */
function columnsOf(names: readonly string[], edges: readonly Edge[]): Map<string, number> {
  const column = new Map<string, number>();
  const active = new Set<string>();
  const visit = (name: string): number => {
    const known = column.get(name);
    if (known !== undefined) return known;
    if (active.has(name)) return -1;
    active.add(name);
    const below = edges.filter(({ from, to }) => from === name && to !== name).map(({ to }) => visit(to));
    active.delete(name);
    const own = Math.max(-1, ...below) + 1;
    column.set(name, own);
    return own;
  };
  for (const name of names) visit(name);
  return column;
}

/** Splits columns that are much longer than the others, so that the picture is not a strip. */
function split(columns: string[][], most: number): string[][] {
  return columns.flatMap((column) => {
    const parts = Math.ceil(column.length / most);
    const size = Math.ceil(column.length / parts);
    return Array.from({ length: parts }, (_, index) => column.slice(index * size, (index + 1) * size));
  });
}

export function layOut(sizes: readonly Size[], edges: readonly Edge[], hasFields: boolean): Layout {
  const names = sizes.map(({ name }) => name);
  const size = new Map(sizes.map((one) => [one.name, one]));
  const column = columnsOf(names, edges);
  const linked = new Set(edges.filter(({ from, to }) => from !== to).flatMap(({ from, to }) => [from, to]));
  const count = Math.max(0, ...column.values()) + 1;
  const ranked = Array.from({ length: count }, (_, index) => names.filter((name) => linked.has(name) && column.get(name) === index));
  const alone = names.filter((name) => !linked.has(name));
  const most = Math.max(4, Math.ceil(Math.sqrt(names.length) * 1.4));
  const columns = split([...ranked, alone].filter(({ length }) => length > 0), most);
  const routes = addBends(columns, edges);
  const neighbors = new Map<string, string[]>();
  for (const route of routes.values()) {
    route.slice(1).forEach((name, index) => {
      const before = route[index] ?? "";
      neighbors.set(name, [...(neighbors.get(name) ?? []), before]);
      neighbors.set(before, [...(neighbors.get(before) ?? []), name]);
    });
  }

  const boxes = new Map<string, Box>();
  const stack = (list: readonly string[], x: number): void => {
    let y = 0;
    list.forEach((name, index) => {
      const { width = 0, height = 0 } = size.get(name) ?? {};
      y += gapBetween(boxes.get(list[index - 1] ?? ""), height);
      boxes.set(name, { name, x, y, width, height });
      y += height;
    });
    for (const name of list) {
      const box = boxes.get(name);
      if (box) box.y -= y / 2;
    }
  };
  const place = (): void => {
    let x = 0;
    for (const list of columns) {
      stack(list, x);
      x += Math.max(...list.map((name) => size.get(name)?.width ?? 0)) + (hasFields ? GAP_X : GAP_X_NAMES);
    }
  };
  const middle = (name: string): number => {
    const box = boxes.get(name);
    return box ? box.y + box.height / 2 : 0;
  };
  /** Returns the mean height of the neighbors of a box. */
  const pull = (name: string): number => {
    const around = neighbors.get(name) ?? [];
    return around.length === 0 ? middle(name) : around.reduce((sum, one) => sum + middle(one), 0) / around.length;
  };
  place();
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    for (const list of sweep % 2 === 0 ? columns : columns.toReversed()) {
      const wanted = new Map(list.map((name) => [name, pull(name)]));
      list.sort((one, other) => (wanted.get(one) ?? 0) - (wanted.get(other) ?? 0));
      stack(list, boxes.get(list[0] ?? "")?.x ?? 0);
    }
  }
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) for (const list of columns) settle(list, boxes, pull);
  return normalized(boxes, columns, routes);
}

/** Returns the space above a box or bend of a column, of which a bend has no height. */
function gapBetween(above: Box | undefined, height: number): number {
  if (!above) return 0;
  return above.height === 0 || height === 0 ? GAP_BEND : GAP_Y;
}

/**
 * Adds bends to the columns that edges pass, and returns the names on the way of each edge by its id. Edges to the same box share
 * their bends.
 */
function addBends(columns: string[][], edges: readonly Edge[]): Map<string, string[]> {
  const columnOf = new Map(columns.flatMap((list, index) => list.map((name) => [name, index] as const)));
  const routes = new Map<string, string[]>();
  for (const { id, from, to } of edges) {
    const [first = 0, last = 0] = [columnOf.get(from), columnOf.get(to)];
    const step = first < last ? 1 : -1;
    const route = [from];
    for (let index = first + step; index * step < last * step; index += step) {
      const bend = `${to} ${step} ${index}`;
      if (!columns[index]?.includes(bend)) columns[index]?.push(bend);
      route.push(bend);
    }
    routes.set(id, from === to ? [from] : [...route, to]);
  }
  return routes;
}

/** Moves the boxes of a column towards their neighbors, without changing their order or letting them overlap. */
function settle(list: readonly string[], boxes: Map<string, Box>, pull: (name: string) => number): void {
  const column = list.map((name) => boxes.get(name)).filter((box) => box !== undefined);
  for (const box of column) box.y = (box.y + pull(box.name) * (1 - GRAVITY) - box.height / 2) / 2;
  const center = column.reduce((sum, box) => sum + box.y + box.height / 2, 0) / Math.max(1, column.length);
  column.forEach((box, index) => {
    const above = column[index - 1];
    if (above) box.y = Math.max(box.y, above.y + above.height + gapBetween(above, box.height));
  });
  // Pushing downward moved the column; its middle stays where it was.
  const moved = column.reduce((sum, box) => sum + box.y + box.height / 2, 0) / Math.max(1, column.length) - center;
  for (const box of column) box.y -= moved;
}

/** The left and right edge of a column. */
type Span = [number, number];

/** Moves all boxes to positive coordinates, and draws the edges. */
function normalized(boxes: Map<string, Box>, columns: readonly string[][], routes: ReadonlyMap<string, readonly string[]>): Layout {
  const all = [...boxes.values()];
  const [left, top] = [Math.min(...all.map(({ x }) => x)), Math.min(...all.map(({ y }) => y))];
  for (const box of all) {
    box.x += MARGIN - left;
    box.y += MARGIN - top;
  }
  const spans = new Map<string, Span>();
  for (const list of columns) {
    const inside = list.map((name) => boxes.get(name)).filter((box) => box !== undefined);
    const span: Span = [Math.min(...inside.map(({ x }) => x)), Math.max(...inside.map(({ x, width }) => x + width))];
    for (const name of list) spans.set(name, span);
  }
  const stops = (route: readonly string[]): Stop[] => route.flatMap((name) => {
    const [box, span] = [boxes.get(name), spans.get(name)];
    return box && span ? [{ box, span }] : [];
  });
  const paths = new Map([...routes].map(([id, route]) => [id, path(stops(route))]));
  for (const [name, { height }] of boxes) if (height === 0) boxes.delete(name);
  return {
    boxes,
    paths,
    width: Math.max(0, ...all.map(({ x, width }) => x + width)) + MARGIN,
    height: Math.max(0, ...all.map(({ y, height }) => y + height)) + MARGIN,
  };
}

/** A box or bend on the way of an edge, and its column. */
interface Stop {
  box: Box;
  span: Span;
}

/** Returns the path of an edge. It crosses columns in straight lines and curves between them. */
function path(stops: readonly Stop[]): string {
  const [first, ...others] = stops;
  if (!first) return "";
  const { box: from, span } = first;
  const right = from.x + from.width;
  const middle = ({ y, height }: Box): number => y + height / 2;
  if (others.length === 0) return `M${right} ${from.y + 8}c36 -26 36 32 0 14`;
  const isSameColumn = others.length === 1 && others[0]?.span === span;
  if (isSameColumn) {
    const to = others[0]?.box ?? from;
    return `M${right} ${middle(from)}H${span[1]}C${span[1] + 46} ${middle(from)} ${span[1] + 46} ${middle(to)} ${span[1]} ${middle(to)}H${to.x + to.width}`;
  }
  const isLeftward = (others[0]?.span[0] ?? 0) < span[0];
  const arrival = ([left, right]: Span): number => (isLeftward ? right : left);
  const departure = ([left, right]: Span): number => (isLeftward ? left : right);
  let [at, y] = [departure(span), middle(from)];
  let drawn = `M${isLeftward ? from.x : right} ${y}H${at}`;
  for (const { box, span: next } of others) {
    const [x, nextY] = [arrival(next), middle(box)];
    const bend = (x - at) / 2;
    drawn += `C${at + bend} ${y} ${x - bend} ${nextY} ${x} ${nextY}`;
    [at, y] = [departure(next), nextY];
    drawn += box.height === 0 ? `H${at}` : `H${isLeftward ? box.x + box.width : box.x}`;
  }
  return drawn;
}
