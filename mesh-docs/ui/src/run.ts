// Runs of the query in the editor, and the pages of their results.

import { batch, computed, signal } from "@preact/signals";
import { execute, RequestError, type Answer } from "./api/client";
import { lapsed } from "./api/session";
import { announce } from "./notice";
import { isBackward, withCursor } from "./query/edit";
import { member } from "./query/json";
import { valuesFor } from "./query/params";
import { printCompact, printQuery } from "./query/print";
import { plain, readQuery } from "./query/read";
import { count, milliseconds } from "./format";
import { current, dialog, pane } from "./state";
import { remember, rememberResult, type SavedQuery } from "./storage";

/** What a request returned. `request` is the one for the first page. */
export type Outcome = { kind: "answer"; answer: Answer; request: SavedQuery } | { kind: "error"; error: RequestError; request: SavedQuery };
export const outcome = signal<Outcome | null>(null);
export const running = signal(false);
/** Cursors of the pages up to the shown one; the first page has none. */
export const cursors = signal<(string | null)[]>([null]);

export type ResultTab = "json" | "table" | "chart" | "plan" | "sql" | "request" | "watch";
export const resultTab = signal<ResultTab>("json");

/** Returns a text that two queries share if they read the same data. */
export function meaning({ format, query, id, params }: SavedQuery): string {
  const tree = readQuery(format, query);
  return JSON.stringify([tree ? printCompact(tree) : query.trim(), id, params]);
}

/** Whether the result belongs to another query than the one in the editor. */
export const isStale = computed(() => outcome.value !== null && meaning(outcome.value.request) !== meaning(current()));

interface PageInfo {
  hasNextPage?: boolean;
  endCursor?: string | null;
  hasPreviousPage?: boolean;
  startCursor?: string | null;
  totalCount?: number;
}
/** What the result says about its page. */
export const pageInfo = computed((): PageInfo => {
  const info = outcome.value?.kind === "answer" ? member(outcome.value.answer.data, "pageInfo") : undefined;
  return info ? (plain(info) as PageInfo) : {};
});
/** Whether the pages of the result are read from its end. */
export const fromEnd = computed(() => {
  if (outcome.value?.kind !== "answer") return false;
  const { format, query } = outcome.value.request;
  return isBackward(readQuery(format, query));
});
/** The cursor of the page that is read next: the one after the shown page or, from the end, the one before it. */
export const nextCursor = computed(() => {
  const { hasNextPage, endCursor, hasPreviousPage, startCursor } = pageInfo.value;
  const [more, cursor] = fromEnd.value ? [hasPreviousPage, startCursor] : [hasNextPage, endCursor];
  return (more && cursor) || null;
});

/** Runs the query in the editor. */
export async function run(explain = false): Promise<void> {
  const request = current();
  cursors.value = [null];
  remember(request);
  await send(request, explain);
}

/** Runs the query of the shown result again, for the plans of the database. */
export async function explain(): Promise<void> {
  if (outcome.value) await send(outcome.value.request, true);
}

export async function nextPage(): Promise<void> {
  const cursor = nextCursor.value;
  if (cursor) await showPage([...cursors.value, cursor]);
}

export async function previousPage(): Promise<void> {
  if (cursors.value.length > 1) await showPage(cursors.value.slice(0, -1));
}

/** Shows a page of the query that was run, which may differ from the text in the editor. */
async function showPage(next: (string | null)[]): Promise<void> {
  if (outcome.value?.kind !== "answer") return;
  const { request } = outcome.value;
  const tree = readQuery(request.format, request.query);
  const cursor = next.at(-1) ?? null;
  if (!tree) return;
  if (cursor === null) {
    await send(request, false);
  } else {
    // The cursor may take the place of a parameter, which then has no value.
    const paged = withCursor(tree, cursor);
    await send({ ...request, query: printQuery("json", paged), format: "json", params: valuesFor(paged, request.params) }, false, request);
  }
  cursors.value = next;
}

export function requestError(error: unknown): RequestError {
  return error instanceof RequestError ? error : new RequestError(0, "Error", String(error));
}

let abort: AbortController | undefined;

/** Cancels the request that is running. */
export function cancel(): void {
  if (!abort || !running.value) return;
  abort.abort();
  running.value = false;
  announce("Cancelled");
}

/** Sends what `work` sends in place of the request that is running. */
export async function replaceRunning(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
  if (lapsed.value !== null) {
    dialog.value = "login";
    return;
  }
  abort?.abort();
  const controller = (abort = new AbortController());
  running.value = true;
  try {
    await work(controller.signal);
  } finally {
    if (abort === controller) running.value = false;
  }
}

/** Shows what a request returned. */
export function showOutcome(next: Outcome): void {
  batch(() => {
    outcome.value = next;
    pane.value = "result";
    if (next.kind === "error") {
      if (next.error.status === 401) dialog.value = "login";
      return;
    }
    const list = member(next.answer.data, "items");
    if (resultTab.value === "watch" || resultTab.value === "request" || (resultTab.value === "table" && !list)) resultTab.value = "json";
  });
}

/** Sends a request. `origin` is the request for the first page. */
async function send(request: SavedQuery, withPlans: boolean, origin = request): Promise<void> {
  const start = performance.now();
  await replaceRunning(async (signal) => {
    try {
      const answer = await execute(request, withPlans, signal);
      if (signal.aborted) return;
      showOutcome({ kind: "answer", answer, request: origin });
      const rows = answer.meta?.rows ?? 0;
      rememberResult(origin.at, { status: answer.status, ms: answer.elapsedMs, rows });
      announce(`${count(rows, "object")} in ${milliseconds(answer.elapsedMs)}`);
    } catch (failure) {
      if (signal.aborted) return;
      const error = requestError(failure);
      showOutcome({ kind: "error", error, request: origin });
      rememberResult(origin.at, { status: error.status, ms: performance.now() - start, rows: 0 });
    }
  });
}

