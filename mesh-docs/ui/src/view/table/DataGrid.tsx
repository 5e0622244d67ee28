// A table of which only the visible rows exist in the document. It is one tab stop; arrow keys move between its cells.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Height of a row, in units of the root's font size. */
const ROW_REM = 2.05;
/** Rows that are rendered beyond each edge of the visible part. */
const OVERSCAN = 8;

export interface GridColumn {
  key: string;
  head: ComponentChildren;
  /** What is announced. */
  label: string;
  /** What is shown in a tooltip; the label unless given. */
  title?: string;
  /** The width in characters. */
  width: number;
  isNumber: boolean;
  sort?: "ascending" | "descending" | undefined;
}

export interface GridCell {
  class: string;
  content: ComponentChildren;
  title?: string | undefined;
}

interface Props {
  label: string;
  columns: readonly GridColumn[];
  /** The number of rows. */
  rows: number;
  testId?: string;
  cell: (row: number, column: number) => GridCell;
  /** Called by Enter or a click on a cell. */
  act: (row: number, column: number, how: "key" | "click") => void;
  /** Called for the context menu of a cell, with a position in the window. */
  menu?: (row: number, column: number, x: number, y: number) => void;
  /** Called by Enter on a head. */
  head?: (column: number) => void;
  /** The rows that are followed by a part of their own, and the height of these parts in units of the root's font size. */
  opened?: readonly number[];
  openedRem?: number;
  below?: (row: number) => ComponentChildren;
}

interface Position {
  row: number;
  column: number;
}

/** The row of the heads. */
const HEAD = -1;

export function DataGrid({ label, columns, rows, testId, cell, act, menu, head, opened = [], openedRem = 0, below }: Props) {
  const id = useId();
  const host = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [height, setHeight] = useState(600);
  const [active, setActive] = useState<Position>({ row: 0, column: 0 });
  const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  const row = Math.round(ROW_REM * rem);
  const part = Math.round(openedRem * rem);
  /** Returns the position of the upper edge of a row. */
  const edge = (index: number): number => index * row + opened.filter((one) => one < index).length * part;

  useLayoutEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setHeight(element.clientHeight));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // A shorter list is shown from where it is.
  useLayoutEffect(() => setTop(host.current?.scrollTop ?? 0), [rows]);

  let first = Math.max(0, Math.min(rows, Math.floor(top / row)) - OVERSCAN);
  while (first > 0 && edge(first) > top) first -= 1;
  let last = first;
  while (last < rows && edge(last) < top + height + OVERSCAN * row) last += 1;
  const shown = Array.from({ length: last - first }, (_, index) => first + index);
  const total = edge(rows);

  const at = { row: Math.min(active.row, rows - 1), column: Math.min(active.column, columns.length - 1) };
  const cellId = ({ row, column }: Position): string => `${id}-${row}-${column}`;
  const show = ({ row: index, column }: Position): void => {
    const element = host.current;
    if (!element) return;
    if (index >= 0) {
      const headHeight = row;
      const [from, to] = [edge(index), edge(index) + row];
      if (from < element.scrollTop) element.scrollTop = from;
      else if (to + headHeight > element.scrollTop + element.clientHeight) element.scrollTop = to + headHeight - element.clientHeight;
    }
    requestAnimationFrame(() => document.getElementById(cellId({ row: index, column }))?.scrollIntoView({ block: "nearest", inline: "nearest" }));
  };
  const go = (row: number, column: number): void => {
    const next = { row: Math.min(Math.max(row, head ? HEAD : 0), rows - 1), column: Math.min(Math.max(column, 0), columns.length - 1) };
    setActive(next);
    show(next);
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.target !== host.current || event.altKey) return;
    const page = Math.max(1, Math.floor(height / row) - 2);
    const isJump = event.ctrlKey || event.metaKey;
    if (event.key === "ArrowDown") go(at.row + 1, at.column);
    else if (event.key === "ArrowUp") go(at.row - 1, at.column);
    else if (event.key === "ArrowRight") go(at.row, at.column + 1);
    else if (event.key === "ArrowLeft") go(at.row, at.column - 1);
    else if (event.key === "PageDown") go(at.row + page, at.column);
    else if (event.key === "PageUp") go(Math.max(0, at.row - page), at.column);
    else if (event.key === "Home") go(isJump ? 0 : at.row, 0);
    else if (event.key === "End") go(isJump ? rows - 1 : at.row, columns.length - 1);
    else if ((event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) && menu) {
      const box = document.getElementById(cellId(at))?.getBoundingClientRect();
      if (box) menu(at.row, at.column, box.left, box.bottom);
    } else if (event.key === "Enter" && !isJump) {
      if (at.row === HEAD) head?.(at.column);
      else act(at.row, at.column, "key");
    } else return;
    event.preventDefault();
  };

  return (
    <div
      ref={host}
      class="table-scroll fill"
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rows + 1}
      aria-colcount={columns.length}
      aria-activedescendant={rows > 0 ? cellId(at) : undefined}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={keys}
    >
      <table data-testid={testId} role="presentation" style={{ width: `${columns.reduce((sum, { width }) => sum + width, 0)}ch` }}>
        <colgroup>
          {columns.map(({ key, width }) => (
            <col key={key} style={{ width: `${width}ch` }} />
          ))}
        </colgroup>
        <thead role="rowgroup">
          <tr role="row" aria-rowindex={1}>
            {columns.map(({ key, head: content, label: name, title = name, isNumber, sort }, column) => (
              <th
                key={key}
                id={cellId({ row: HEAD, column })}
                role="columnheader"
                title={title}
                aria-sort={sort}
                class={`${isNumber ? "number" : ""} ${at.row === HEAD && at.column === column ? "active" : ""}`}
              >
                {content}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {first > 0 && <Space key="before" height={edge(first)} />}
          {shown.map((index) => [
            <tr key={index} role="row" aria-rowindex={index + 2} style={{ height: `${row}px` }}>
              {columns.map(({ key }, column) => {
                const { class: kind, content, title } = cell(index, column);
                const isActive = at.row === index && at.column === column;
                return (
                  <td
                    key={key}
                    id={cellId({ row: index, column })}
                    role="gridcell"
                    title={title}
                    class={isActive ? `${kind} active` : kind}
                    onClick={() => (setActive({ row: index, column }), act(index, column, "click"))}
                    onContextMenu={(event) => {
                      if (!menu) return;
                      event.preventDefault();
                      setActive({ row: index, column });
                      menu(index, column, event.clientX, event.clientY);
                    }}
                  >
                    {content}
                  </td>
                );
              })}
            </tr>,
            opened.includes(index) && below && (
              <tr key={`${index} below`} role="row" class="below" style={{ height: `${part}px` }}>
                <td role="gridcell" colSpan={columns.length}>
                  <div class="below-part" style={{ height: `${part - 1}px` }}>{below(index)}</div>
                </td>
              </tr>
            ),
          ])}
          {last < rows && <Space key="after" height={total - edge(last)} />}
        </tbody>
      </table>
    </div>
  );
}

/** The place of rows that are not rendered. */
function Space({ height }: { height: number }) {
  return <tr aria-hidden="true" class="space" style={{ height: `${height}px` }} />;
}
