// The live view of a record or list over its event stream, with a log of what changed. It goes on while other results are shown.

import { batch, signal } from "@preact/signals";
import { watch } from "./api/client";
import { parseJson } from "./query/json";
import { entityOf, idFields } from "./schema";
import { current, query, schema } from "./state";
import type { SavedQuery } from "./storage";
import { changesBetween, type Change, type State } from "./watch/changes";

/** The last state, and the number of states received. */
export interface Received {
  state: State;
  time: Date;
  count: number;
}

/** What changed from one state to the next. */
export interface LogEntry {
  time: Date;
  changes: Change[];
}

/** The most entries of the log; older ones are removed. */
const ENTRIES_MAX = 100;

/** The request that is watched, or was watched last. */
export const watched = signal<{ entity: string; request: SavedQuery } | null>(null);
export const isWatching = signal(false);
export const received = signal<Received | null>(null);
/** The changes, the latest first. */
export const log = signal<LogEntry[]>([]);
export const watchError = signal("");

let abort: AbortController | undefined;

export function stopWatching(): void {
  abort?.abort();
  isWatching.value = false;
}

/** Forgets what was watched. */
export function forgetWatched(): void {
  stopWatching();
  batch(() => {
    watched.value = null;
    received.value = null;
    log.value = [];
    watchError.value = "";
  });
}

/** Notes a state, and what it changes. */
function receive(data: string, names: readonly string[]): void {
  const state = { source: data, data: parseJson(data) };
  const before = received.value;
  const changes = before ? changesBetween(before.state, state, names) : [];
  const time = new Date();
  batch(() => {
    if (changes.length > 0) log.value = [{ time, changes }, ...log.value].slice(0, ENTRIES_MAX);
    received.value = { state, time, count: (before?.count ?? 0) + 1 };
  });
}

/** Watches the record or list of the query in the editor, instead of the one before. */
export async function startWatching(): Promise<void> {
  const entity = query.value?.entity;
  if (!entity) return;
  abort?.abort();
  const controller = (abort = new AbortController());
  const request = current();
  batch(() => {
    watched.value = { entity, request };
    isWatching.value = true;
    watchError.value = "";
    received.value = null;
    log.value = [];
  });
  const names = schema.value ? idFields(entityOf(schema.value, entity)) : [];
  const fail = (message: string): void => {
    if (!controller.signal.aborted) watchError.value = message;
  };
  try {
    await watch(request, entity, controller.signal, ({ kind, data }) => {
      if (controller.signal.aborted) return;
      if (kind === "update") receive(data, names);
      else if (kind === "error") fail((JSON.parse(data) as { message?: string }).message ?? data);
    });
    fail("The stream has ended");
  } catch (failure) {
    fail(failure instanceof Error ? failure.message : String(failure));
  }
  if (abort === controller) isWatching.value = false;
}
