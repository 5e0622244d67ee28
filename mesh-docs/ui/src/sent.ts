// What the request view has sent, and what came back.

import { batch, computed, signal } from "@preact/signals";
import { exchange, type Exchange, type Way } from "./api/exchange";
import { announce } from "./notice";
import { meaning } from "./run";
import { current, query } from "./state";
import type { SavedQuery } from "./storage";

export const way = signal<Way>("get");
/** The last exchange, and the query that was sent. */
export const sent = signal<{ exchange: Exchange; request: SavedQuery } | null>(null);
export const sendError = signal("");
/** Whether another query than the one in the editor was sent. */
export const isOtherSent = computed(() => sent.value !== null && meaning(sent.value.request) !== meaning(current()));

/** Counts the exchanges, so that the reply to another caller or in another way is not shown. */
let sends = 0;

/** Forgets the exchange. */
export function forgetSent(): void {
  sends += 1;
  batch(() => {
    sent.value = null;
    sendError.value = "";
  });
}

/** Chooses how the query is sent. */
export function chooseWay(next: Way): void {
  if (next === way.value) return;
  way.value = next;
  forgetSent();
}

export async function send(tag: string | null): Promise<void> {
  const entity = query.value?.entity;
  if (entity === undefined) return;
  const turn = (sends += 1);
  const request = current();
  try {
    const done = await exchange(way.value, request, entity, tag);
    if (turn !== sends) return;
    sent.value = { exchange: done, request };
    sendError.value = "";
    announce(`Status ${done.status}`);
  } catch (error) {
    if (turn === sends) sendError.value = error instanceof Error ? error.message : String(error);
  }
}
