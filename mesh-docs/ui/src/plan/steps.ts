// What a statement does, from its text and from the steps of the database's query plan, and which index would help.

import type { Statement } from "../api/client";

/** One step of a query plan, as SQLite or PostgreSQL reports it. */
export interface Step {
  kind: "scan" | "index" | "sort" | "other";
  /** The table that is read. */
  table?: string | undefined;
  /** The index that is used, with what it is searched by. */
  index?: string | undefined;
  text: string;
  /** An index that would help; only where the step is a problem. */
  advice?: string | undefined;
}

/** A statement that takes less time has no problem. */
const SLOW_MS = 1;
/** The longest name of an index in PostgreSQL. */
const NAME_MAX = 63;

/** A column of a table in a statement. */
interface Column {
  alias: string;
  name: string;
}

/** Returns the names of tables by their aliases. */
function tablesOf(sql: string): Map<string, string> {
  return new Map([...sql.matchAll(/"(\w+)" AS "(\w+)"/g)].map(([, table = "", alias = ""]) => [alias, table]));
}

function columnsIn(text: string, pattern: RegExp): Column[] {
  return [...text.matchAll(pattern)].map(([, alias = "", name = ""]) => ({ alias, name }));
}

/** Returns the columns of an alias that an index could find rows by: those that are compared with values or other columns. */
function searched(sql: string, alias: string): { equal: string[]; range: string[] } {
  const conditions = sql.slice(sql.search(/\bWHERE\b/));
  const names = (pattern: RegExp, from = conditions): string[] => columnsIn(from, pattern).flatMap((one) => (one.alias === alias ? [one.name] : []));
  const equal = [...names(/"(\w+)"\."(\w+)" (?:=|IN\b|IS NOT DISTINCT)/g), ...names(/= "(\w+)"\."(\w+)"/g)];
  const range = names(/"(\w+)"\."(\w+)" (?:<|>|BETWEEN\b)/g);
  return sql.includes("WHERE") ? { equal: [...new Set(equal)], range: [...new Set(range)] } : { equal: [], range: [] };
}

/** Returns the columns of an alias in the order of the outermost statement. */
function ordered(sql: string, alias: string): string[] {
  const clause = /\bORDER BY\b(?!.*\bORDER BY\b)(.*)$/s.exec(sql)?.[1] ?? "";
  return columnsIn(clause, /"(\w+)"\."(\w+)"/g).flatMap((one) => (one.alias === alias ? [one.name] : []));
}

function indexOn(table: string, columns: readonly string[]): string {
  const names = [...new Set(columns)];
  const name = [table, ...names].join("_").toLowerCase().slice(0, NAME_MAX);
  return `CREATE INDEX "${name}" ON "${table}" (${names.map((one) => `"${one}"`).join(", ")})`;
}

function parse(text: string): Step & { alias?: string | undefined } {
  const found = (pattern: RegExp): RegExpExecArray | null => pattern.exec(text);
  const search = found(/^(?:SEARCH|SCAN) (\w+)\b.* USING (?:AUTOMATIC )?(?:PARTIAL )?(?:COVERING )?(?:INDEX )?(INTEGER PRIMARY KEY|PRIMARY KEY|\w+)\b( \(.*\))?/);
  if (search) return { kind: "index", alias: search[1], index: `${search[2] ?? ""}${search[3] ?? ""}`, text };
  const scan = found(/^SCAN (\w+)\b/);
  if (scan) return { kind: "scan", alias: scan[1], text };
  const byIndex = found(/Index(?: Only)? Scan(?: Backward)? using "?([^"\s]+)"? on (?:"?\w+"?\.)?"?(\w+)"?(?: "?(\w+)"?)?/);
  if (byIndex) return { kind: "index", alias: byIndex[3] ?? byIndex[2], table: byIndex[2], index: byIndex[1], text };
  const sequential = found(/Seq Scan on (?:"?\w+"?\.)?"?(\w+)"?(?: "?(\w+)"?)?/);
  if (sequential) return { kind: "scan", alias: sequential[2] ?? sequential[1], table: sequential[1], text };
  if (/^USE TEMP B-TREE|^\W*(?:Incremental )?Sort\b(?! Key)/.test(text)) return { kind: "sort", text };
  return { kind: "other", text };
}

/** Returns the steps of a statement, with the index that would help where one is missing. */
export function stepsOf({ sql, durationMs, queryPlan = [] }: Statement): Step[] {
  const tables = tablesOf(sql);
  const isSlow = durationMs >= SLOW_MS;
  const root = [...tables.keys()][0] ?? "";
  return queryPlan.map((line): Step => {
    const { alias = "", ...step } = parse(line.trim());
    const table = tables.get(alias) ?? step.table;
    if (!isSlow || (step.kind !== "scan" && step.kind !== "sort")) return { ...step, table };
    const subject = step.kind === "sort" ? root : alias;
    const { equal, range } = searched(sql, subject);
    const order = ordered(sql, subject);
    const name = tables.get(subject) ?? table;
    if (name === undefined) return { ...step, table };
    // A sort is a problem if an index can give the order; a scan, if an index can find the rows.
    const columns = step.kind === "sort" ? (range.length > 0 || order.length === 0 ? [] : [...equal, ...order]) : equal.length > 0 ? [...equal, ...order] : range.slice(0, 1);
    return columns.length > 0 ? { ...step, table, advice: indexOn(name, columns) } : { ...step, table };
  });
}
