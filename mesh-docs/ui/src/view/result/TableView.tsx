// A collection as a table: a column per scalar, with to-one relations in the row of their parent.

import { useMemo, useState } from "preact/hooks";
import { formatJson, member, type Json } from "../../query/json";
import { count } from "./format";

/** The path of a column's values in a record. */
type Path = readonly string[];

/** To-one relations nested deeper than this are cells of their own. */
const DEPTH_MAX = 4;
/** How many records determine the columns. */
const SAMPLE = 200;

/** Returns the value at a path; `undefined` if a relation on the way is null. */
function cell(record: Json, path: Path): Json | undefined {
  return path.reduce<Json | undefined>(member, record);
}

function itemsOf(list: Json): Json[] {
  return list.kind === "array" ? list.items : [];
}

/** Returns the columns in the order in which records first have them. */
function columnsOf(records: Json[]): Path[] {
  const columns = new Map<string, Path>();
  const relations = new Set<string>();
  const walk = (json: Json, path: Path): void => {
    if (json.kind !== "object") return;
    for (const { key, value } of json.members) {
      const inner = [...path, key];
      const name = inner.join(".");
      if (value.kind === "object" && inner.length < DEPTH_MAX) {
        relations.add(name);
        walk(value, inner);
      } else if (!columns.has(name)) columns.set(name, inner);
    }
  };
  for (const record of records.slice(0, SAMPLE)) walk(record, []);
  // A relation that is null in some records and an object in others is shown by its fields only.
  return [...columns].filter(([name]) => !relations.has(name)).map(([, path]) => path);
}

/** Returns the table as text: a line per record, with tabs between cells. */
export function asText(list: Json, source: string): string {
  const records = itemsOf(list);
  const columns = columnsOf(records);
  const shown = (json: Json | undefined): string => {
    if (json === undefined || (json.kind === "word" && json.value === null)) return "";
    return (json.kind === "string" ? json.value : source.slice(json.from, json.to)).replaceAll(/[\t\r\n]+/g, " ");
  };
  const head = columns.map((path) => path.join("."));
  return [head, ...records.map((record) => columns.map((path) => shown(cell(record, path))))].map((row) => row.join("\t")).join("\n");
}

export function TableView({ list, source }: { list: Json; source: string }) {
  const records = itemsOf(list);
  const columns = useMemo(() => columnsOf(records), [list]);
  const [first] = records;
  if (!first) return <p class="hint pad">No record matches.</p>;
  return (
    <div class="table-scroll fill" tabIndex={0} role="region" aria-label="Result as a table">
      <table data-testid="table">
        <thead>
          <tr>
            {columns.map((path) => (
              <th key={path.join(".")} scope="col" class={cell(first, path)?.kind === "number" ? "number" : ""}>
                {path.length > 1 && <span class="relate">{path.slice(0, -1).join(".")}.</span>}
                {path.at(-1)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {records.map((record, index) => (
            <tr key={index}>
              {columns.map((path) => (
                <Cell key={path.join(".")} json={cell(record, path)} source={source} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ json, source }: { json: Json | undefined; source: string }) {
  const [isOpen, setOpen] = useState(false);
  switch (json?.kind) {
    case "string":
      return <td class="text">{json.value}</td>;
    case "number":
      return <td class="number">{json.raw}</td>;
    case "word":
      return <td class={json.value === null ? "null" : "truth"}>{String(json.value)}</td>;
    case "array":
    case "object":
      return (
        <td>
          <button type="button" class="small" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {json.kind === "array" ? count(json.items.length, "item") : "object"}
          </button>
          {isOpen && <pre>{formatJson(json, source, 48)}</pre>}
        </td>
      );
    default:
      return <td />;
  }
}
