// A list of records as a table, with a panel for the value of a cell.

import { useMemo, useState } from "preact/hooks";
import { cellText } from "../../table/cell";
import { columnsOf, itemsOf, valueAt, type Column, type Origin } from "../../table/columns";
import type { Json } from "../../query/json";
import { DataGrid, type GridCell, type GridColumn } from "./DataGrid";
import { Detail } from "./Detail";

interface Props {
  list: Json;
  source: string;
  origin: Origin;
  label: string;
  testId?: string;
}

export function gridColumn({ path, width, isNumber }: Column): GridColumn {
  const label = path.join(".");
  const head = (
    <>
      {path.length > 1 && <span class="relate">{path.slice(0, -1).join(".")}.</span>}
      {path.at(-1) ?? "value"}
    </>
  );
  return { key: label, label, head, width, isNumber };
}

export function valueCell(json: Json | undefined, type: string | undefined, source: string): GridCell {
  const { text, kind } = cellText(json, type, source);
  return { class: kind, content: text, title: text.length > 12 ? text : undefined };
}

export function RecordTable({ list, source, origin, label, testId }: Props) {
  const records = itemsOf(list);
  const columns = useMemo(() => columnsOf(list, source, origin), [list]);
  const heads = useMemo(() => columns.map(gridColumn), [columns]);
  const [chosen, setChosen] = useState<{ row: number; column: number } | null>(null);
  if (records.length === 0) return <p class="hint pad">No record matches.</p>;
  const valueOf = (row: number, column: number): Json | undefined => valueAt(records[row], columns[column]?.path ?? []);
  const open = (row: number, column: number, how: "key" | "click"): void => {
    const { hasMore } = cellText(valueOf(row, column), columns[column]?.type, source);
    // A panel that is open follows the chosen cell.
    if (how === "key" || hasMore || chosen) setChosen({ row, column });
  };
  const shown = chosen && columns[chosen.column];
  return (
    <div class="table-and-detail">
      <DataGrid
        label={label}
        columns={heads}
        rows={records.length}
        {...(testId && { testId })}
        cell={(row, column) => valueCell(valueOf(row, column), columns[column]?.type, source)}
        act={open}
      />
      {chosen && shown && (
        <Detail
          key={`${chosen.row} ${chosen.column}`}
          title={`${shown.path.join(".") || "value"} of row ${chosen.row + 1}`}
          json={valueOf(chosen.row, chosen.column)}
          type={shown.type}
          source={source}
          close={() => setChosen(null)}
          list={(records, label) => (
            <RecordTable list={records} source={source} origin={{ ...origin, refs: [...origin.refs, ...shown.path] }} label={label} testId="sub-table" />
          )}
        />
      )}
    </div>
  );
}
