// The values of a chart, from the groups of a result.

import type { Json } from "../query/json";
import { cellText } from "../table/cell";
import { itemsOf, valueAt } from "../table/columns";

export interface Point {
  label: string;
  /** The aggregate as text, with all its digits. */
  text: string;
  /** Null if there is none. */
  value: number | null;
}

/** Returns a point for each group: its keys, and one aggregate of it. */
export function pointsOf(list: Json, source: string, keys: readonly string[], aggregate: string): Point[] {
  return itemsOf(list).map((group): Point => {
    const labels = keys.map((key) => cellText(valueAt(group, key.split(".")), undefined, source).text);
    const { text } = cellText(valueAt(group, [aggregate]), undefined, source);
    const value = text === "" || text === "null" ? Number.NaN : Number(text);
    return { label: labels.join(", "), text, value: Number.isFinite(value) ? value : null };
  });
}

/** Returns the range of the values. It contains zero. */
export function rangeOf(points: readonly Point[]): [number, number] {
  const values = points.map(({ value }) => value ?? 0);
  const [least, most] = [Math.min(0, ...values), Math.max(0, ...values)];
  return least === most ? [0, 1] : [least, most];
}

/** A bar, in percent of the width. */
export interface Bar {
  from: number;
  width: number;
}

export function barOf(value: number | null, [least, most]: [number, number]): Bar {
  const percent = (one: number): number => (100 * (one - least)) / (most - least);
  const [from, to] = [percent(Math.min(0, value ?? 0)), percent(Math.max(0, value ?? 0))];
  return { from, width: to - from };
}

/** A point of a line, in percent of the width and of the height. */
export interface Spot extends Point {
  x: number;
  y: number;
}

/** Returns the points of a line over time, in its order; those without a time or value are not part of it. */
export function lineOf(points: readonly Point[]): Spot[] {
  const timed = points.map((point) => ({ ...point, time: Date.parse(point.label) })).filter(({ time, value }) => !Number.isNaN(time) && value !== null);
  timed.sort((one, other) => one.time - other.time);
  const [first, last] = [timed[0]?.time ?? 0, timed.at(-1)?.time ?? 0];
  const range = rangeOf(points);
  return timed.map(({ time, ...point }) => {
    const { from, width } = barOf(point.value, range);
    const top = (point.value ?? 0) < 0 ? from : from + width;
    return { ...point, x: last === first ? 50 : (100 * (time - first)) / (last - first), y: 100 - top };
  });
}
