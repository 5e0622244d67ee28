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
  /** How far the text is indented in the plan, in characters. */
  indent: number;
  /** An index that would help; only where the step is a problem. */
  advice?: string | undefined;
}

/** A statement that takes less time has no problem. */
const SLOW_MS = 1;
/** PostgreSQL reads a table of a lower cost without an index even if there is one. */
const SCAN_COST = 20;
/** Sorting fewer rows costs PostgreSQL nothing that an index could save. */
const SORT_ROWS = 1000;
/** The longest name of an index in PostgreSQL. */
const NAME_MAX = 63;

/** A column of a table in a statement. */
interface Column {
  alias: string;
  name: string;
}

/** Returns the names of tables by their aliases. */
function tablesOf(sql: string): Map<string, string> {
  return new Map([...sql.matchAll(/\b(?:FROM|JOIN) (?:"\w+"\.)?"(\w+)" AS "(\w+)"/g)].map(([, table = "", alias = ""]) => [alias, table]));
}

function columnsIn(text: string, pattern: RegExp): Column[] {
  return [...text.matchAll(pattern)].map(([, alias = "", name = ""]) => ({ alias, name }));
}

/** Returns the columns of an alias that an index could find rows by: those that are compared with values or other columns. */
function searched(sql: string, alias: string): { equal: string[]; range: string[] } {
  const conditions = sql.slice(sql.search(/\bWHERE\b/));
  const names = (pattern: RegExp, from = conditions): string[] => columnsIn(from, pattern).flatMap((one) => (one.alias === alias ? [one.name] : []));
  const equal = [...names(/"(\w+)"\."(\w+)" (?:=|IN\b|IS NOT DISTINCT)/g), ...names(/= "(\w+)"\."(\w+)"/g)];
  const range = names(/"(\w+)"\."(\w+)" (?:<(?!>)|>|BETWEEN\b)/g);
  return sql.includes("WHERE") ? { equal: [...new Set(equal)], range: [...new Set(range)] } : { equal: [], range: [] };
}

/** A column of an index, with its direction if the index needs it. */
interface Key {
  name: string;
  direction: string;
}

/** Returns the columns of an alias that its order begins with. */
function ordered(sql: string, alias: string, isPostgres: boolean): Key[] {
  const clauses = [...sql.matchAll(/\bORDER BY ([^()]*)/g)].map(([, clause = ""]) => {
    const keys = [...clause.matchAll(/"(\w+)"\."(\w+)"(?: ASC)?((?: DESC)?)((?: NULLS \w+)?)/g)];
    // SQLite reads an index in the order of NULLs that it is asked for.
    return keys.map(([, of = "", name = "", direction = "", nulls = ""]) => ({ of, name, direction: isPostgres ? direction + nulls : direction }));
  });
  const clause = clauses.findLast(([first]) => first?.of === alias) ?? [];
  const end = clause.findIndex(({ of }) => of !== alias);
  const keys = end < 0 ? clause : clause.slice(0, end);
  // An index is read in both directions. Mixed ones, and a place of NULLs, have to be those of the index.
  const needsDirection = keys.some(({ direction }) => direction.includes("NULLS")) || new Set(keys.map(({ direction }) => direction)).size > 1;
  return keys.map(({ name, direction }) => ({ name, direction: needsDirection ? direction : "" }));
}

function indexOn(table: string, keys: readonly Key[]): string {
  const columns = keys.filter(({ name }, index) => keys.findIndex((one) => one.name === name) === index);
  const name = [table, ...columns.map((one) => one.name)].join("_").toLowerCase().slice(0, NAME_MAX);
  return `CREATE INDEX "${name}" ON "${table}" (${columns.map((one) => `"${one.name}"${one.direction}`).join(", ")})`;
}

/** Whether PostgreSQL estimates that a scan or a sort is cheap, or a scan reads all rows because all are wanted. SQLite has no estimates. */
function isCheap(kind: Step["kind"], text: string, next: string): boolean {
  const [, cost, rows] = /\(cost=[\d.]+\.\.([\d.]+) rows=(\d+)/.exec(text) ?? [];
  if (cost === undefined) return false;
  return kind === "sort" ? Number(rows) < SORT_ROWS : Number(cost) < SCAN_COST || !next.startsWith("Filter:");
}

function parse(text: string): Omit<Step, "indent"> & { alias?: string | undefined } {
  const found = (pattern: RegExp): RegExpExecArray | null => pattern.exec(text);
  const search = found(/^(?:SEARCH|SCAN) (\w+)\b.* USING (?:AUTOMATIC )?(?:PARTIAL )?(?:COVERING )?(?:INDEX )?(INTEGER PRIMARY KEY|PRIMARY KEY|\w+)\b( \(.*\))?/);
  if (search) return { kind: "index", alias: search[1], index: `${search[2] ?? ""}${search[3] ?? ""}`, text };
  const scan = found(/^SCAN (\w+)\b/);
  if (scan) return { kind: "scan", alias: scan[1], text };
  const byIndex = found(/Index(?: Only)? Scan(?: Backward)? using "?([^"\s]+)"? on (?:"?\w+"?\.)?"?(\w+)"?(?: "?(\w+)"?)?/);
  if (byIndex) return { kind: "index", alias: byIndex[3] ?? byIndex[2], table: byIndex[2], index: byIndex[1], text };
  const bitmap = found(/Bitmap Index Scan on "?(\w+)"?/);
  if (bitmap) return { kind: "index", index: bitmap[1], text };
  const sequential = found(/Seq Scan on (?:"?\w+"?\.)?"?(\w+)"?(?: "?(\w+)"?)?/);
  if (sequential) return { kind: "scan", alias: sequential[2] ?? sequential[1], table: sequential[1], text };
  if (/^USE TEMP B-TREE|^\W*(?:Incremental )?Sort\b(?! Key)/.test(text)) return { kind: "sort", text };
  return { kind: "other", text };
}

/** Returns the steps of a statement, with the index that would help where one is missing. */
export function stepsOf({ sql: written, durationMs, queryPlan = [] }: Statement): Step[] {
  const sql = written.replaceAll(/OPERATOR\(pg_catalog\.([^)]+)\)/g, "$1");
  const tables = tablesOf(sql);
  const isSlow = durationMs >= SLOW_MS;
  const isPostgres = queryPlan[0]?.includes("(cost=") ?? false;
  const root = [...tables.keys()][0] ?? "";
  return queryPlan.map((line, position): Step => {
    const text = line.trim();
    const next = queryPlan[position + 1]?.trim() ?? "";
    const { alias = "", ...parsed } = parse(text);
    const step = { ...parsed, table: tables.get(alias) ?? parsed.table, indent: line.search(/[^\s>-]/) };
    if (!isSlow || (step.kind !== "scan" && step.kind !== "sort") || isCheap(step.kind, text, next)) return step;
    const subject = step.kind === "sort" ? (/^Sort Key: "?(\w+)"?\./.exec(next)?.[1] ?? root) : alias;
    const { equal, range } = searched(sql, subject);
    const equals = equal.map((name): Key => ({ name, direction: "" }));
    const order = ordered(sql, subject, isPostgres);
    const table = tables.get(subject) ?? step.table;
    if (table === undefined) return step;
    // A sort is a problem if an index can give the order; a scan, if an index can find the rows.
    const found = equal.length > 0 ? [...equals, ...order] : range.slice(0, 1).map((name) => ({ name, direction: "" }));
    const keys = step.kind === "scan" ? found : range.length > 0 || order.length === 0 ? [] : [...equals, ...order];
    return keys.length > 0 ? { ...step, advice: indexOn(table, keys) } : step;
  });
}
