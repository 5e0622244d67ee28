// A collection as a table: a column per scalar, with to-one relations in the row of their parent.

import { useMemo, useState } from "preact/hooks";
import { layOut, type Json } from "../../query/json";

interface Column {
  path: string[];
}

/** The cell at a path; `undefined` where a relation on the way is null. */
function cell(item: Json, path: readonly string[]): Json | undefined {
  let at: Json | undefined = item;
  for (const key of path) {
    at = at?.kind === "object" ? at.members.find((one) => one.key === key)?.value : undefined;
  }
  return at;
}

/** Columns in the order of the first object that has them. */
function columnsOf(items: Json[]): Column[] {
  const found = new Map<string, Column>();
  const relations = new Set<string>();
  const walk = (json: Json, path: string[]): void => {
    if (json.kind !== "object") return;
    for (const { key, value } of json.members) {
      const below = [...path, key];
      const name = below.join(".");
      if (value.kind === "object" && below.length < 4) {
        relations.add(name);
        walk(value, below);
      } else if (!found.has(name)) found.set(name, { path: below });
    }
  };
  for (const item of items.slice(0, 200)) walk(item, []);
  // A relation that is null in one row and an object in another is shown by its fields only.
  return [...found.values()].filter((one) => !relations.has(one.path.join(".")));
}

/** The table as text: tabs between cells, a line for each record. */
export function asText(list: Json, source: string): string {
  const items = list.kind === "array" ? list.items : [];
  const columns = columnsOf(items);
  const shown = (json: Json | undefined): string => {
    if (json === undefined || (json.kind === "word" && json.value === null)) return "";
    return (json.kind === "string" ? json.value : source.slice(json.from, json.to)).replaceAll(/[\t\r\n]+/g, " ");
  };
  const head = columns.map(({ path }) => path.join("."));
  return [head, ...items.map((item) => columns.map(({ path }) => shown(cell(item, path))))].map((row) => row.join("\t")).join("\n");
}

export function TableView({ list, source }: { list: Json; source: string }) {
  const items = list.kind === "array" ? list.items : [];
  const columns = useMemo(() => columnsOf(items), [list]);
  if (items.length === 0) return <p class="hint pad">No record fits.</p>;
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="Result as a table">
      <table data-testid="table">
        <thead>
          <tr>
            {columns.map(({ path }) => (
              <th key={path.join(".")} scope="col" class={items[0] && cell(items[0], path)?.kind === "number" ? "number" : ""}>
                {path.length > 1 && <span class="column-path">{path.slice(0, -1).join(".")}.</span>}
                {path.at(-1)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item, index) => (
            <tr key={index}>
              {columns.map(({ path }) => (
                <Cell key={path.join(".")} json={cell(item, path)} source={source} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ json, source }: { json: Json | undefined; source: string }) {
  const [open, setOpen] = useState(false);
  if (json === undefined) return <td />;
  switch (json.kind) {
    case "string":
      return <td class="text">{json.value}</td>;
    case "number":
      return <td class="number">{json.raw}</td>;
    case "word":
      return <td class={json.value === null ? "null" : "truth"}>{String(json.value)}</td>;
    default: {
      const count = json.kind === "array" ? `${json.items.length} ${json.items.length === 1 ? "item" : "items"}` : "object";
      return (
        <td class="nested">
          <button type="button" class="small" aria-expanded={open} onClick={() => setOpen(!open)}>
            {count}
          </button>
          {open && <pre>{layOut(json, source, 48)}</pre>}
        </td>
      );
    }
  }
}
