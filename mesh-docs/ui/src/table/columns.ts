// The columns of a list of records: one for each scalar, with to-one relations in the row of their parent.

import { member, type Json } from "../query/json";
import { isNumeric, memberType } from "../query/types";
import type { Query } from "../query/tree";
import type { Schema } from "../schema";
import { cellText } from "./cell";

/** The path of a column's values in a record. */
export type Path = readonly string[];

export interface Column {
  path: Path;
  /** The type of its field. */
  type: string | undefined;
  isNumber: boolean;
  /** The width in characters. */
  width: number;
}

/** What is known about the records of a list: the query, and the path of the node that reads them. */
export interface Origin {
  schema: Schema | null;
  query: Query | undefined;
  refs: readonly string[];
}

/** To-one relations nested deeper than this are cells of their own. */
const DEPTH_MAX = 4;
/** How many records determine the columns and their widths. */
const SAMPLE = 200;
const WIDTH_MIN = 5;
const WIDTH_MAX = 44;

/** Returns the value at a path; `undefined` if a relation on the way is null. */
export function valueAt(record: Json | undefined, path: Path): Json | undefined {
  return path.reduce<Json | undefined>(member, record);
}

export function itemsOf(list: Json | undefined): Json[] {
  return list?.kind === "array" ? list.items : [];
}

/** Returns the paths of scalars and lists in the order in which records first have them. */
function pathsOf(records: Json[], isValue: (path: Path) => boolean): Path[] {
  const columns = new Map<string, Path>();
  const relations = new Set<string>();
  const walk = (json: Json, path: Path): void => {
    if (json.kind !== "object") return;
    for (const { key, value } of json.members) {
      const inner = [...path, key];
      const name = inner.join(".");
      if (value.kind === "object" && inner.length < DEPTH_MAX && !isValue(inner)) {
        relations.add(name);
        walk(value, inner);
      } else if (!columns.has(name)) columns.set(name, inner);
    }
  };
  for (const record of records.slice(0, SAMPLE)) walk(record, []);
  // A relation that is null in some records and an object in others is shown by its fields only.
  return [...columns].filter(([name]) => !relations.has(name)).map(([, path]) => path);
}

export function columnsOf(list: Json, source: string, origin: Origin): Column[] {
  const records = itemsOf(list);
  if (records[0] && records[0].kind !== "object") return [column([], records, undefined, source)];
  const { schema, query, refs } = origin;
  const typeOf = (path: Path): string | undefined => {
    return schema && query ? memberType(schema, query, [...refs, ...path.slice(0, -1)], path.at(-1) ?? "") : undefined;
  };
  return pathsOf(records, (path) => typeOf(path) === "json").map((path) => column(path, records, typeOf(path), source));
}

function column(path: Path, records: Json[], type: string | undefined, source: string): Column {
  const sample = records.slice(0, SAMPLE).map((record) => cellText(valueAt(record, path), type, source));
  const isNumber = isNumeric(type) || (sample.some(({ kind }) => kind === "number") && sample.every(({ kind }) => kind !== "text"));
  return { path, type, isNumber, width: widthOf(path.join("."), sample.map(({ text }) => text)) };
}

/** Returns the width in characters that suits a head and most of the texts below it. */
export function widthOf(head: string, texts: readonly string[]): number {
  const lengths = texts.map(({ length }) => length).sort((one, other) => one - other);
  const most = lengths[Math.floor(lengths.length * 0.9)] ?? 0;
  return Math.min(Math.max(head.length * 1.12, most, WIDTH_MIN), WIDTH_MAX) + 3;
}

/** Returns a list as text: a line per record, with tabs between cells. */
export function asText(list: Json, source: string, origin: Origin): string {
  const columns = columnsOf(list, source, origin);
  const shown = (json: Json | undefined): string => {
    if (json === undefined || (json.kind === "word" && json.value === null)) return "";
    return (json.kind === "string" ? json.value : source.slice(json.from, json.to)).replaceAll(/[\t\r\n]+/g, " ");
  };
  const rows = itemsOf(list).map((record) => columns.map(({ path }) => shown(valueAt(record, path))));
  return [columns.map(({ path }) => path.join(".")), ...rows].map((row) => row.join("\t")).join("\n");
}
