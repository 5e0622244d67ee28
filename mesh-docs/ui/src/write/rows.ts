// Rows that are pasted to create records of: CSV, text with tabs, a JSON array, or JSON objects in lines.

import { parseJson, type Json } from "../query/json";
import { inputOf, type Input } from "./body";

export interface Pasted {
  names: string[];
  rows: ReadonlyMap<string, Input>[];
}

/** The most records of one request. `SPEC §18.1` */
export const ROWS_MAX = 1000;

/** Parses a text; throws an error that says what is wrong with it. */
export function parseRows(text: string): Pasted {
  const trimmed = text.trim();
  if (trimmed === "") return { names: [], rows: [] };
  const rows = /^[[{]/.test(trimmed) ? ofJson(trimmed) : ofLines(trimmed);
  return { names: [...new Set(rows.flatMap((row) => [...row.keys()]))], rows };
}

function ofJson(text: string): Map<string, Input>[] {
  if (text.startsWith("{")) return text.split("\n").filter((line) => line.trim() !== "").map((line, index) => ofObject(parsed(line, ` in line ${index + 1}`), line, index));
  const list = parsed(text, "");
  if (list.kind !== "array") throw new Error("Paste a JSON array of objects.");
  return list.items.map((item, index) => ofObject(item, text, index));
}

function parsed(text: string, where: string): Json {
  try {
    JSON.parse(text);
    return parseJson(text);
  } catch (failure) {
    throw new Error(`This is not JSON${where}: ${(failure as Error).message}`);
  }
}

function ofObject(json: Json, source: string, index: number): Map<string, Input> {
  if (json.kind !== "object") throw new Error(`Row ${index + 1} is not an object.`);
  return new Map(json.members.map(({ key: name, value }) => [name, inputOf(value, source)]));
}

/** Parses CSV (RFC 4180) with a line of names. A cell that is empty and not quoted leaves its field out. */
function ofLines(text: string): Map<string, Input>[] {
  const head = text.split("\n", 1)[0] ?? "";
  const separator = ["\t", ";", ","].find((one) => head.includes(one)) ?? ",";
  const [names = [], ...lines] = cells(text, separator);
  return lines.map((line, index) => {
    if (line.length > names.length) throw new Error(`Row ${index + 1} has ${line.length} cells, but there are ${names.length} names in the first line.`);
    return new Map(line.flatMap(({ text, isQuoted }, column) => (text === "" && !isQuoted ? [] : [[names[column]?.text.trim() ?? "", text] as const])));
  });
}

interface Cell {
  text: string;
  isQuoted: boolean;
}

function cells(text: string, separator: string): Cell[][] {
  const lines: Cell[][] = [];
  let line: Cell[] = [];
  let at = 0;
  while (at <= text.length) {
    const cell = text[at] === '"' ? quoted(text, at) : unquoted(text, at, separator);
    line.push(cell.cell);
    at = cell.end;
    if (text[at] === separator) {
      at += 1;
      continue;
    }
    if (text[at] === "\r") at += 1;
    if (at < text.length && text[at] !== "\n") throw new Error(`Row ${lines.length} has text after a closing quote.`);
    // Empty lines are no records.
    if (line.length > 1 || line[0]?.text !== "" || line[0].isQuoted) lines.push(line);
    line = [];
    at += 1;
  }
  return lines;
}

function unquoted(text: string, from: number, separator: string): { cell: Cell; end: number } {
  let end = from;
  while (end < text.length && text[end] !== separator && text[end] !== "\n" && !(text[end] === "\r" && text[end + 1] === "\n")) end += 1;
  return { cell: { text: text.slice(from, end), isQuoted: false }, end };
}

function quoted(text: string, from: number): { cell: Cell; end: number } {
  let content = "";
  let at = from + 1;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) throw new Error("A quote is not closed.");
    content += text.slice(at, quote);
    if (text[quote + 1] !== '"') return { cell: { text: content, isQuoted: true }, end: quote + 1 };
    content += '"';
    at = quote + 2;
  }
}
