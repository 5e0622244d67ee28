// The menus of cells and heads of the data browser.

import { labelOf, pathOf, type BrowseColumn } from "../../browse/columns";
import { addFilter, openRecord, orderBy, view } from "../../browse/state";
import { editRecord } from "../../write/state";
import { idOf } from "../../browse/view";
import { operatorsFor, parseValue, type Condition } from "../../query/filter";
import { member, type Json } from "../../query/json";
import { plain } from "../../query/read";
import { entityOf, fieldAt, type Schema } from "../../schema";
import { copyText } from "../parts/copy";
import type { MenuItem } from "../parts/ContextMenu";

/** The texts of operators in menus. */
const OPERATORS: [string, string][] = [
  ["eq", "is"],
  ["ne", "is not"],
  ["gte", "at least"],
  ["lte", "at most"],
];

function typeOf(known: Schema, path: string): string | undefined {
  return fieldAt(known, view.value?.entity, path)?.type;
}

/** Returns the actions on a column. */
export function headItems(known: Schema, column: BrowseColumn, hide: () => void): MenuItem[] {
  const path = pathOf(known, column);
  const items: MenuItem[] = [];
  if (path !== undefined) {
    const allowed = operatorsFor(typeOf(known, path), known.query.filterOperators);
    items.push({ label: "Sort ascending", act: () => orderBy(path, false, "asc") });
    items.push({ label: "Sort descending", act: () => orderBy(path, false, "desc") });
    items.push({ label: "Then sort by this", act: () => orderBy(path, true, "asc") });
    const first = typeOf(known, path) === "string" && allowed.includes("like") ? { op: "like", value: "%%" } : { op: allowed[0] ?? "eq", value: parseValue("", typeOf(known, path), "eq") };
    items.push({ label: "Filter…", act: () => addFilter({ kind: "condition", field: path, ...first }) });
    items.push({ label: "Without a value", act: () => addFilter({ kind: "condition", field: path, op: "isNull", value: undefined }) });
    items.push({ label: "With a value", act: () => addFilter({ kind: "condition", field: path, op: "isNotNull", value: undefined }) });
  }
  items.push({ label: "Hide the column", act: hide });
  return items;
}

/** Returns the value that a column is filtered by in a row. */
function valueOf(known: Schema, column: BrowseColumn, row: Json): Json | undefined {
  if (column.kind === "field") return member(row, column.name);
  return column.kind === "one" ? member(member(row, column.name), labelOf(known, column.relation)) : undefined;
}

/** Returns the actions on a cell. */
export function cellItems(known: Schema, column: BrowseColumn, row: Json, source: string, openRow: () => void): MenuItem[] {
  const items: MenuItem[] = [];
  const path = pathOf(known, column);
  const json = valueOf(known, column, row);
  if (path !== undefined && json) {
    const isNull = json.kind === "word" && json.value === null;
    const condition = (op: string): Condition => ({ kind: "condition", field: path, op, value: op.startsWith("is") ? undefined : plain(json) });
    const allowed = operatorsFor(typeOf(known, path), known.query.filterOperators);
    const text = json.kind === "string" ? json.value : source.slice(json.from, json.to);
    const short = text.length > 24 ? `${text.slice(0, 24)}…` : text;
    if (isNull) {
      items.push({ label: `${column.name} is null`, act: () => addFilter(condition("isNull")) });
      items.push({ label: `${column.name} is not null`, act: () => addFilter(condition("isNotNull")) });
    } else {
      for (const [op, words] of OPERATORS) if (allowed.includes(op)) items.push({ label: `${column.name} ${words} ${short}`, act: () => addFilter(condition(op)) });
    }
    items.push({ label: "Copy the value", act: () => void copyText(text, "Value") });
  }
  const relation = column.kind === "field" ? column.link : column.relation;
  const target = relation && column.kind !== "many" ? member(row, relation.name) : undefined;
  const id = relation && idOf(entityOf(known, relation.entity), target);
  if (relation && id !== undefined) items.push({ label: `Open ${relation.name}`, act: () => openRecord({ entity: relation.entity, id }) });
  items.push({ label: "Open the record", act: openRow });
  const entity = view.value && entityOf(known, view.value.entity);
  const own = idOf(entity ?? undefined, row);
  if (entity && own !== undefined && column.kind === "field" && entity.writes?.update.includes(column.name)) items.push({ label: `Edit ${column.name}`, act: () => editRecord(entity.name, own, column.name) });
  return items;
}
