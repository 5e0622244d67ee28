// Downloads of the rows of a view: all of them by an export of the server, or those that are shown.

import { readHeaders, readPath, send } from "../api/client";
import { notify } from "../notice";
import { saveFile } from "../view/parts/file";
import { printQuery } from "../query/print";
import { schema } from "../state";
import { itemsOf, columnsOf, valueAt } from "../table/columns";
import { member } from "../query/json";
import { answer, view } from "./state";
import { exportQuery } from "./view";

export type Download = "csv" | "ndjson";
const MEDIA: Record<Download, string> = { csv: "text/csv", ndjson: "application/x-ndjson" };

/** Whether the server exports collections. `SPEC §16` */
export function hasExport(): boolean {
  return schema.value?.profiles?.includes("export") ?? false;
}

export async function download(kind: Download): Promise<void> {
  const shown = view.value;
  if (!shown) return;
  try {
    saveFile(hasExport() ? await exported(kind) : shownRows(kind), `${shown.entity}.${kind}`, MEDIA[kind]);
    notify(`${shown.entity}.${kind} downloaded`);
  } catch (failure) {
    notify(failure instanceof Error ? failure.message : String(failure), true);
  }
}

/** Reads all rows of the view. */
async function exported(kind: Download): Promise<Blob> {
  const [known, shown] = [schema.value, view.value];
  const query = known && shown && exportQuery(known, shown);
  if (!query) return new Blob();
  const path = readPath(query.entity, "");
  const headers = { ...(await readHeaders({ query: printQuery("json", query), format: "json", id: "" }, path)), Accept: MEDIA[kind] };
  return (await send(path, { headers })).blob();
}

/** Returns the rows that are shown, in the form of an export. */
function shownRows(kind: Download): Blob {
  const read = answer.value;
  const list = read && member(read.data, "items");
  if (!read || !list) return new Blob();
  const items = itemsOf(list);
  if (kind === "ndjson") return new Blob(items.map((item) => `${read.source.slice(item.from, item.to)}\n`));
  const [known, shown] = [schema.value, view.value];
  const columns = columnsOf(list, read.source, { schema: known, query: (known && shown && exportQuery(known, shown)) ?? undefined, refs: [] });
  const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const line = (cells: string[]): string => `${cells.join(",")}\r\n`;
  const head = line(columns.map(({ path }) => quote(path.join("."))));
  const lines = items.map((item) =>
    line(
      columns.map(({ path }) => {
        const json = valueAt(item, path);
        if (json === undefined || (json.kind === "word" && json.value === null)) return "";
        const text = read.source.slice(json.from, json.to);
        // Numbers and booleans are written as in JSON.
        return json.kind === "number" || json.kind === "word" ? text : quote(json.kind === "string" ? json.value : text);
      }),
    ),
  );
  return new Blob([head, ...lines]);
}
