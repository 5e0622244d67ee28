// The rows of the data browser.

import { useMemo, useState } from "preact/hooks";
import { labelOf, pathOf, type BrowseColumn } from "../../browse/columns";
import { answer, expanded, openRecord, orderBy, rows, setColumns, view } from "../../browse/state";
import { idOf, shownColumns } from "../../browse/view";
import { member, type Json } from "../../query/json";
import { isNumeric } from "../../query/types";
import { described, entityOf, fieldOf, fieldTitle, type Relation, type Schema } from "../../schema";
import { schema } from "../../state";
import { cellText } from "../../table/cell";
import { widthOf } from "../../table/columns";
import { ContextMenu, type MenuAt } from "../parts/ContextMenu";
import { DataGrid, type GridCell, type GridColumn } from "../table/DataGrid";
import { valueCell } from "../table/RecordTable";
import { cellItems, headItems } from "./menus";
import { RelatedRows } from "./RelatedRows";

/** Height of the related rows below a row, in units of the root's font size. */
const RELATED_REM = 17;
const RELATION_ICON = "▸";

export function Rows() {
  const [known, shown, read] = [schema.value, view.value, answer.value];
  const [menu, setMenu] = useState<MenuAt | null>(null);
  const columns = useMemo(() => (known && shown ? shownColumns(known, shown) : []), [known, shown]);
  const widths = useMemo(() => (known && read ? columns.map((column) => columnWidth(known, column, rows.value, read.source)) : []), [columns, read]);
  if (!known || !shown || !read) return <p class="hint pad">Reading…</p>;
  const entity = entityOf(known, shown.entity);
  const source = read.source;
  const open = (ref: { relation: Relation; record: Json | undefined }): void => {
    const id = idOf(entityOf(known, ref.relation.entity), ref.record);
    if (id !== undefined) openRecord({ entity: ref.relation.entity, id });
  };
  const openRow = (row: number): void => {
    const id = idOf(entity, rows.value[row]);
    if (id !== undefined) openRecord({ entity: shown.entity, id });
  };
  const toggle = (row: number, relation: string): void => {
    const isOpen = expanded.value?.row === row && expanded.value.relation === relation;
    expanded.value = isOpen ? null : { row, relation };
  };
  const cell = (row: number, index: number): GridCell => {
    const [column, json] = [columns[index], rows.value[row]];
    if (!column || json === undefined) return { class: "", content: "" };
    if (column.kind === "field") {
      const value = valueCell(member(json, column.name), column.type, source);
      const target = column.link && member(json, column.link.name);
      if (!column.link || target?.kind !== "object") return value;
      const relation = column.link;
      const label = cellText(member(target, labelOf(known, relation)), undefined, source).text;
      return { ...value, class: "linked", title: `${relation.entity}: ${label}`, content: <Link text={label === "" ? String(value.content) : label} note={String(value.content)} act={() => open({ relation, record: target })} /> };
    }
    if (column.kind === "one") {
      const target = member(json, column.name);
      if (target?.kind !== "object") return { class: "null", content: "null" };
      const label = cellText(member(target, labelOf(known, column.relation)), undefined, source).text;
      return { class: "linked", title: `${column.relation.entity}: ${label}`, content: <Link text={label} note="" act={() => open({ relation: column.relation, record: target })} /> };
    }
    const number = member(member(json, column.alias), "count");
    const isOpen = expanded.value?.row === row && expanded.value.relation === column.name;
    return {
      class: "counted",
      content: (
        <button type="button" class="cell-link" tabIndex={-1} aria-expanded={isOpen} aria-label={`${cellText(number, "integer", source).text} ${column.name}`} onClick={(event) => (event.stopPropagation(), toggle(row, column.name))}>
          <span class={isOpen ? "turned" : ""}>{RELATION_ICON}</span> {cellText(number, "integer", source).text}
        </button>
      ),
    };
  };
  const act = (row: number, index: number, how: "key" | "click"): void => {
    const column = columns[index];
    const json = rows.value[row];
    const relation = column?.kind === "one" ? column.relation : column?.kind === "field" ? column.link : undefined;
    const target = relation && member(json, relation.name);
    if (how === "key" && column?.kind === "many") toggle(row, column.name);
    else if (how === "key" && relation && target?.kind === "object") open({ relation, record: target });
    else if (column?.kind !== "many") openRow(row);
  };
  const heads = columns.map((column, index): GridColumn => {
    const path = pathOf(known, column);
    const order = shown.order.find(({ field }) => field === path);
    const sort = order && (order.direction === "asc" ? "ascending" : "descending");
    const label = column.kind === "field" && column.link ? `${column.name}, ${column.link.name}` : column.name;
    return {
      key: column.name,
      label,
      title: headTitle(known, shown.entity, column),
      width: widths[index] ?? 12,
      isNumber: column.kind === "many" || (column.kind === "field" && !column.link && isNumeric(column.type)),
      sort,
      head: (
        <span class="head row">
          <button
            type="button"
            class="head-name flat ellipsis"
            tabIndex={-1}
            disabled={path === undefined}
            onClick={(event) => path !== undefined && orderBy(path, event.shiftKey)}
          >
            <span class={column.kind === "field" ? "ellipsis" : "relate ellipsis"}>{column.name}</span>
            {sort && <span aria-hidden="true">{sort === "ascending" ? "↑" : "↓"}</span>}
          </button>
          <button
            type="button"
            class="head-menu flat"
            tabIndex={-1}
            aria-label={`Menu of ${column.name}`}
            onClick={({ currentTarget }) => openHeadMenu(index, currentTarget)}
          >
            ⋮
          </button>
        </span>
      ),
    };
  });
  const openHeadMenu = (index: number, anchor: Element | null): void => {
    const column = columns[index];
    const box = anchor?.getBoundingClientRect();
    if (column && box) setMenu({ label: column.name, x: box.left, y: box.bottom, items: headItems(known, column, () => hide(column)) });
  };
  const hide = (column: BrowseColumn): void => setColumns(shown.columns.filter((name) => name !== column.name));
  const cellMenu = (row: number, index: number, x: number, y: number): void => {
    const [column, json] = [columns[index], rows.value[row]];
    if (column && json) setMenu({ label: `${column.name} of row ${row + 1}`, x, y, items: cellItems(known, column, json, source, () => openRow(row)) });
  };
  if (rows.value.length === 0) return <p class="hint pad" data-testid="no-rows">No row matches.</p>;
  const below = expanded.value;
  const relation = below && entity?.joins.find(({ name }) => name === below.relation);
  return (
    <>
      <DataGrid
        label={`Rows of ${shown.entity}`}
        testId="rows"
        columns={heads}
        rows={rows.value.length}
        cell={cell}
        act={act}
        menu={cellMenu}
        head={(index) => openHeadMenu(index, document.activeElement?.querySelectorAll("th")[index] ?? null)}
        opened={below ? [below.row] : []}
        openedRem={RELATED_REM}
        below={(row) => relation && <RelatedRows entity={shown.entity} id={idOf(entity, rows.value[row]) ?? ""} relation={relation} close={() => (expanded.value = null)} />}
      />
      {menu && <ContextMenu {...menu} close={() => setMenu(null)} />}
    </>
  );
}

/** Returns what is known about a column: its field, and the entity that it leads to. */
function headTitle(known: Schema, entity: string, column: BrowseColumn): string {
  const field = column.kind === "field" ? fieldOf(known, entity, column.name) : undefined;
  const relation = column.kind === "field" ? column.link : column.relation;
  const target = relation && entityOf(known, relation.entity);
  const lines = [field ? fieldTitle(field) : column.name, target ? `${relation.name}: ${relation.type === "many" ? "many of" : "one of"} ${described(target)}` : ""];
  return lines.filter((line) => line !== "").join("\n");
}

/** A link to a related record. The grid is the tab stop. */
export function Link({ text, note, act }: { text: string; note: string; act: () => void }) {
  return (
    <button type="button" class="cell-link ellipsis" tabIndex={-1} onClick={(event) => (event.stopPropagation(), act())}>
      {text}
      {note !== "" && note !== text && <span class="faint"> {note}</span>}
    </button>
  );
}

function columnWidth(known: Schema, column: BrowseColumn, records: Json[], source: string): number {
  const texts = records.map((json) => {
    if (column.kind === "many") return "00000";
    const value = column.kind === "field" ? cellText(member(json, column.name), column.type, source).text : "";
    const relation = column.kind === "one" ? column.relation : column.link;
    const label = relation ? cellText(member(member(json, relation.name), labelOf(known, relation)), undefined, source).text : "";
    return label === "" ? value : `${label} ${value}`;
  });
  return widthOf(`${column.name} ⋮`, texts) + 2;
}
