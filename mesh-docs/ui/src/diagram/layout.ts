// The layout of the diagram: columns of boxes, ordered so that edges are short and cross little.

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
  const neighbors = new Map(names.map((name) => [name, edges.flatMap(({ from, to }) => (from === name && to !== name ? [to] : to === name && from !== name ? [from] : []))]));

  const boxes = new Map<string, Box>();
  const stack = (list: readonly string[], x: number): void => {
    const total = list.reduce((sum, name) => sum + (size.get(name)?.height ?? 0) + GAP_Y, -GAP_Y);
    let y = -total / 2;
    for (const name of list) {
      const { width = 0, height = 0 } = size.get(name) ?? {};
      boxes.set(name, { name, x, y, width, height });
      y += height + GAP_Y;
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
  return normalized(boxes);
}

/** Moves the boxes of a column towards their neighbors, without changing their order or letting them overlap. */
function settle(list: readonly string[], boxes: Map<string, Box>, pull: (name: string) => number): void {
  const column = list.map((name) => boxes.get(name)).filter((box) => box !== undefined);
  for (const box of column) box.y = (box.y + pull(box.name) * (1 - GRAVITY) - box.height / 2) / 2;
  const center = column.reduce((sum, box) => sum + box.y + box.height / 2, 0) / Math.max(1, column.length);
  column.forEach((box, index) => {
    const above = column[index - 1];
    if (above) box.y = Math.max(box.y, above.y + above.height + GAP_Y);
  });
  // Pushing downward moved the column; its middle stays where it was.
  const moved = column.reduce((sum, box) => sum + box.y + box.height / 2, 0) / Math.max(1, column.length) - center;
  for (const box of column) box.y -= moved;
}

/** Moves all boxes to positive coordinates. */
function normalized(boxes: Map<string, Box>): Layout {
  const all = [...boxes.values()];
  const [left, top] = [Math.min(...all.map(({ x }) => x)), Math.min(...all.map(({ y }) => y))];
  for (const box of all) {
    box.x += MARGIN - left;
    box.y += MARGIN - top;
  }
  return {
    boxes,
    width: Math.max(0, ...all.map(({ x, width }) => x + width)) + MARGIN,
    height: Math.max(0, ...all.map(({ y, height }) => y + height)) + MARGIN,
  };
}

/** Returns the path of an edge between two boxes, from the sides that face each other. */
export function curve(from: Box, to: Box): string {
  const [y1, y2] = [from.y + from.height / 2, to.y + to.height / 2];
  if (from === to) {
    return `M${from.x + from.width} ${from.y + 8}c36 -26 36 32 0 14`;
  }
  const isLeft = to.x + to.width <= from.x;
  const isRight = from.x + from.width <= to.x;
  if (!isLeft && !isRight) {
    // Both are in the same column: the edge goes around them.
    const x = Math.max(from.x + from.width, to.x + to.width);
    return `M${from.x + from.width} ${y1}C${x + 46} ${y1} ${x + 46} ${y2} ${to.x + to.width} ${y2}`;
  }
  const [x1, x2] = isLeft ? [from.x, to.x + to.width] : [from.x + from.width, to.x];
  const bend = Math.max(30, Math.abs(x2 - x1) / 2) * (isLeft ? -1 : 1);
  return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
}
