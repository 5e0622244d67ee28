// The state of the data browser, and the actions that change it.

import { batch, computed, signal } from "@preact/signals";
import { execute, type Answer, type RequestError } from "../api/client";
import { lapsed } from "../api/session";
import { count } from "../format";
import { announce } from "../notice";
import type { Condition, Filter } from "../query/filter";
import { member, type Json } from "../query/json";
import { plain } from "../query/read";
import { printQuery } from "../query/print";
import { requestError, run } from "../run";
import { entityOf } from "../schema";
import { dialog, mode, open, opened, schema } from "../state";
import { storedColumns, storeColumns } from "../storage";
import { itemsOf } from "../table/columns";
import { allColumns, firstColumns } from "./columns";
import { FIRST_PAGE, PAGE_SIZE, pageQuery, type Page, type View } from "./view";

/** A record that is shown in the panel. */
export interface RecordRef {
  entity: string;
  id: string;
}

export const view = signal<View | null>(null);
export const page = signal<Page>(FIRST_PAGE);
export const record = signal<RecordRef | null>(null);
/** A record to be created, on its own or as a child of a relation. */
export interface NewRecord {
  entity: string;
  parent?: { entity: string; id: string; relation: string };
  /** Whether several records are created, from pasted rows. */
  many?: boolean;
}
/** The new record whose form is shown in place of the panel. */
export const creating = signal<NewRecord | null>(null);
/** The field of the shown record at which its editing begins, empty for the first; `null` while it is not edited. */
export const editing = signal<string | null>(null);
/** The rows whose relation is shown below them, and its name. */
export const expanded = signal<{ row: number; relation: string } | null>(null);

export const answer = signal<Answer | null>(null);
export const failure = signal<RequestError | null>(null);
export const isLoading = signal(false);
/** The number of rows that match; `undefined` until it is known. */
export const total = signal<number | undefined>(undefined);

export const rows = computed((): Json[] => itemsOf(answer.value ? member(answer.value.data, "items") : undefined));

interface PageInfo {
  hasNextPage?: boolean;
  hasPreviousPage?: boolean;
  startCursor?: string | null;
  endCursor?: string | null;
  totalCount?: number;
}
const pageInfo = computed((): PageInfo => {
  const info = answer.value && member(answer.value.data, "pageInfo");
  return info ? (plain(info) as PageInfo) : {};
});
export const hasPrevious = computed(() => (page.value.direction === "forward" ? !isFirst(page.value) : (pageInfo.value.hasPreviousPage ?? false)));
export const hasNext = computed(() => (page.value.direction === "forward" ? (pageInfo.value.hasNextPage ?? false) : page.value.cursor !== null));

/** The text of the query of the shown rows. */
export const queryText = computed(() => {
  const [known, shown] = [schema.value, view.value];
  const query = known && shown && pageQuery(known, shown, page.value, isFirst(page.value));
  return query ? printQuery("json", query) : "";
});

/** The total is counted with the first page only. */
function isFirst({ direction, cursor, skip = 0 }: Page): boolean {
  return direction === "forward" && cursor === null && skip === 0;
}

let abort: AbortController | undefined;

/** Reads the page that is to be shown. */
export async function load(): Promise<void> {
  if (lapsed.value !== null) {
    dialog.value = "login";
    return;
  }
  abort?.abort();
  const controller = (abort = new AbortController());
  const query = queryText.peek();
  if (query === "") return;
  isLoading.value = true;
  try {
    const read = await execute({ query, format: "json", id: "" }, false, controller.signal);
    if (controller.signal.aborted) return;
    batch(() => {
      answer.value = read;
      failure.value = null;
      expanded.value = null;
      total.value = pageInfo.value.totalCount ?? total.value;
      page.value = { ...page.value, offset: offsetOf(page.value) };
    });
    announce(`${count(rows.value.length, "row")} of ${total.value ?? "many"}`);
  } catch (error) {
    if (controller.signal.aborted) return;
    failure.value = requestError(error);
  } finally {
    if (abort === controller) isLoading.value = false;
  }
}

/** Returns the number of rows before the page, which was estimated before it was read. */
function offsetOf({ direction, cursor, offset }: Page): number {
  if (direction === "forward") return offset;
  if (!pageInfo.value.hasPreviousPage) return 0;
  return Math.max(0, (cursor === null ? (total.value ?? offset) : offset) - rows.value.length);
}

function show(next: Page): void {
  page.value = next;
  void load();
}

export function showFirst(): void {
  show(FIRST_PAGE);
}

export function showLast(): void {
  show({ direction: "backward", cursor: null, offset: total.value ?? 0 });
}

/** Shows a page by its number, which begins at 1. */
export function showNumber(number: number): void {
  const offset = (number - 1) * PAGE_SIZE;
  show(offset > 0 ? { direction: "forward", cursor: null, skip: offset, offset } : FIRST_PAGE);
}

export function showNext(): void {
  const { endCursor } = pageInfo.value;
  if (hasNext.value && endCursor) show({ direction: "forward", cursor: endCursor, offset: page.value.offset + rows.value.length });
}

export function showPrevious(): void {
  const { startCursor } = pageInfo.value;
  if (hasPrevious.value && startCursor) show({ direction: "backward", cursor: startCursor, offset: page.value.offset });
}

/** Changes what is shown, from its first page on. */
function change(next: View): void {
  batch(() => {
    view.value = next;
    page.value = FIRST_PAGE;
  });
  void load();
}

/** Shows the rows of an entity, filtered if conditions are given. */
export function browse(entity: string, filters: Filter[] = []): void {
  const known = schema.value;
  const found = known && entityOf(known, entity);
  if (!found) return;
  const names = allColumns(known, found).map(({ name }) => name);
  const stored = storedColumns(entity)?.filter((name) => names.includes(name));
  batch(() => {
    mode.value = "data";
    closeRecord();
    answer.value = null;
    total.value = undefined;
    change({ entity, filters, order: [], columns: stored && stored.length > 0 ? stored : firstColumns(known, found) });
    opened.value += 1;
  });
}

/** Orders by a field: ascending, then descending, then not at all. With `add`, the field is added to the order. */
export function orderBy(field: string, add: boolean, direction?: "asc" | "desc"): void {
  const shown = view.value;
  if (!shown) return;
  const old = shown.order.find((one) => one.field === field);
  const next = direction ?? (!old ? "asc" : old.direction === "asc" ? "desc" : undefined);
  const others = add ? shown.order.filter((one) => one.field !== field) : [];
  change({ ...shown, order: next ? [...others, { field, direction: next }] : others });
}

let pause = 0;

/** Replaces the conditions. While a value is typed, `delay` waits for its end. */
export function setFilters(filters: Filter[], delay = 0): void {
  if (!view.value) return;
  batch(() => {
    if (view.value) view.value = { ...view.value, filters };
    page.value = FIRST_PAGE;
  });
  window.clearTimeout(pause);
  if (delay === 0) void load();
  else pause = window.setTimeout(() => void load(), delay);
}

export function addFilter(condition: Condition): void {
  if (view.value) setFilters([...view.value.filters, condition]);
}

export function setColumns(columns: string[]): void {
  const shown = view.value;
  if (!shown || columns.length === 0) return;
  storeColumns(shown.entity, columns);
  view.value = { ...shown, columns };
  void load();
}

/** Shows a record in the panel. */
export function openRecord(ref: RecordRef): void {
  batch(() => {
    showRecord(ref);
    opened.value += 1;
  });
}

export function closeRecord(): void {
  showRecord(null);
}

/** Shows another record in the panel, or none. Forms are closed. */
function showRecord(ref: RecordRef | null): void {
  batch(() => {
    record.value = ref;
    creating.value = null;
    editing.value = null;
  });
}

/** Opens a query of the browser in the editor, and runs it. */
export function openInEditor(query: string, id = ""): void {
  batch(() => {
    mode.value = "query";
    open({ query, format: "json", id, at: Date.now() });
  });
  void run();
}

/** What an entry of the browser's history restores. */
export interface Place {
  view: View;
  page: Page;
  record: RecordRef | null;
}

export const place = computed((): Place | null => (view.value ? { view: view.value, page: page.value, record: record.value } : null));

export function restorePlace(next: Place | null): void {
  const isSame = next && JSON.stringify([next.view, { ...next.page, offset: 0 }]) === JSON.stringify([view.value, { ...page.value, offset: 0 }]);
  batch(() => {
    view.value = next?.view ?? null;
    page.value = next?.page ?? FIRST_PAGE;
    if (JSON.stringify(next?.record ?? null) !== JSON.stringify(record.value)) showRecord(next?.record ?? null);
  });
  if (next && !isSame) void load();
}

/** Discards what another caller has read. */
export function forgetRows(): void {
  abort?.abort();
  batch(() => {
    view.value = null;
    closeRecord();
    answer.value = null;
    failure.value = null;
    total.value = undefined;
  });
}
