// Files with saved queries.

import { fits } from "./query/fits";
import { readQuery } from "./query/read";
import type { Schema } from "./schema";
import { saveNamed, type NamedQuery, type SavedQuery } from "./storage";

function isNamed(one: unknown): one is NamedQuery {
  const { name, query, format, id } = (one ?? {}) as Partial<SavedQuery>;
  return typeof name === "string" && typeof query === "string" && (format === "json" || format === "ql") && typeof id === "string";
}

function queries(number: number): string {
  return number === 1 ? "1 query" : `${number} queries`;
}

/**
 * Saves the queries of a file that belong to a schema; those with the name of a saved one replace it. Returns what was done, in
 * words. Throws if the text is not a file with queries.
 */
export function importQueries(schema: Schema, text: string): string {
  const list = (JSON.parse(text) as { queries?: unknown } | null)?.queries;
  if (!Array.isArray(list)) throw new TypeError("no list of queries");
  const read = list.filter(isNamed);
  // An incomplete text is kept: it does not say where it belongs.
  const own = read.filter((one) => !readQuery(one.format, one.query) || fits(schema, one));
  const replaced = own.map(saveNamed).filter(Boolean).length;
  const facts = [`Imported ${queries(own.length)}`];
  if (replaced > 0) facts.push(`${replaced} replaced`);
  if (read.length > own.length) facts.push(`left out ${read.length - own.length} that this schema has no entity or field for`);
  if (list.length > read.length) facts.push(`left out ${list.length - read.length} that cannot be read`);
  return facts.join(", ");
}

/** Returns the text of a file with named queries. */
export function exportQueries(list: readonly SavedQuery[]): string {
  const queries = list.map(({ name, query, format, id, params, at }) => ({ name, query, format, id, ...(params !== undefined && { params }), at }));
  return `${JSON.stringify({ queries }, null, 2)}\n`;
}
