// The live view of a record over its event stream. It goes on while other results are shown.

import { batch, signal } from "@preact/signals";
import { watch } from "./api/client";
import { current, query } from "./state";
import type { SavedQuery } from "./storage";

/** The last state of the record, and the number of states received. */
export interface Received {
  data: string;
  time: Date;
  count: number;
}

/** The request that is watched, or was watched last. */
export const watched = signal<{ entity: string; request: SavedQuery } | null>(null);
export const isWatching = signal(false);
export const received = signal<Received | null>(null);
export const watchError = signal("");

let abort: AbortController | undefined;

export function stopWatching(): void {
  abort?.abort();
  isWatching.value = false;
}

/** Forgets the record that was watched. */
export function forgetWatched(): void {
  stopWatching();
  batch(() => {
    watched.value = null;
    received.value = null;
    watchError.value = "";
  });
}

/** Watches the record of the query in the editor, instead of the one before. */
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
  });
  const fail = (message: string): void => {
    if (!controller.signal.aborted) watchError.value = message;
  };
  try {
    await watch(request, entity, controller.signal, ({ kind, data }) => {
      if (controller.signal.aborted) return;
      if (kind === "update") received.value = { data, time: new Date(), count: (received.value?.count ?? 0) + 1 };
      else if (kind === "error") fail((JSON.parse(data) as { message?: string }).message ?? data);
    });
    fail("The stream has ended");
  } catch (failure) {
    fail(failure instanceof Error ? failure.message : String(failure));
  }
  if (abort === controller) isWatching.value = false;
}
