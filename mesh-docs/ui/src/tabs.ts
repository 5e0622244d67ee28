// The tabs of queries. Each has a draft, the history of its edits, and its last result.

import { batch, computed, signal } from "@preact/signals";
import { executeAll, STEPS_MAX, type BatchRead } from "./api/batch";
import type { Answer } from "./api/client";
import { viewAs } from "./api/viewAs";
import { count, milliseconds } from "./format";
import { announce } from "./notice";
import { cancel, cursors, outcome, replaceRunning, requestError, showOutcome, type Outcome } from "./run";
import { readQuery } from "./query/read";
import { current, openedTab, restoreDraft, schema, startQuery } from "./state";
import { remember, storedTabs, type SavedQuery } from "./storage";
import { fits } from "./query/fits";
import type { Schema } from "./schema";
import { hasBatch } from "./write/staged";

interface QueryTab {
  key: number;
  /** The draft of a tab that is not active; that of the active one is in the editor. */
  draft: SavedQuery;
  outcome: Outcome | null;
  cursors: (string | null)[];
}

const EMPTY: SavedQuery = { query: "", format: "json", id: "", at: 0 };

export const tabs = signal<QueryTab[]>([{ key: 1, draft: EMPTY, outcome: null, cursors: [null] }]);

/** Returns the tabs with the state of the active one. */
function withActive(): QueryTab[] {
  const active: Partial<QueryTab> = { draft: current(), outcome: outcome.value, cursors: cursors.value };
  return tabs.value.map((tab) => (tab.key === openedTab.value ? { ...tab, ...active } : tab));
}

/** Shows a tab. */
export function showTab(key: number): void {
  const all = withActive();
  const next = all.find((tab) => tab.key === key);
  if (!next || key === openedTab.value) return;
  cancel();
  batch(() => {
    tabs.value = all;
    openedTab.value = key;
    restoreDraft(next.draft);
    outcome.value = next.outcome;
    cursors.value = next.cursors;
  });
}

/** Opens a tab with a query, or with a new query of the entity of the active one. */
export function newTab(saved?: SavedQuery): void {
  const entity = readQuery(current().format, current().query)?.entity ?? schema.value?.entities[0]?.name;
  const key = Math.max(...tabs.value.map((tab) => tab.key)) + 1;
  batch(() => {
    tabs.value = [...withActive(), { key, draft: saved ?? EMPTY, outcome: null, cursors: [null] }];
    showTab(key);
    if (!saved && entity !== undefined) startQuery(entity);
  });
}

/** Closes a tab. The last one stays. */
export function closeTab(key: number): void {
  const at = tabs.value.findIndex((tab) => tab.key === key);
  if (tabs.value.length < 2 || at < 0) return;
  const neighbor = tabs.value[at + 1] ?? tabs.value[at - 1];
  batch(() => {
    if (key === openedTab.value && neighbor) showTab(neighbor.key);
    tabs.value = tabs.value.filter((tab) => tab.key !== key);
  });
}

/** The tabs whose texts are queries, with what they read. */
const reads = computed(() =>
  withActive().flatMap(({ key, draft }): (BatchRead & { key: number; request: SavedQuery })[] => {
    const entity = readQuery(draft.format, draft.query)?.entity;
    return entity === undefined ? [] : [{ key, entity, request: draft }];
  }),
);
/** How many tabs can be run as one; 0 where that cannot be. A batch reads as the caller itself. */
export const runnable = computed(() => {
  const { length } = reads.value;
  return hasBatch() && viewAs.value === null && length > 1 && length <= STEPS_MAX ? length : 0;
});

/** Runs the queries of all tabs as one batch, and shows each result in its tab. A fault is shown in the tab that has it. */
export async function runTabs(): Promise<void> {
  const start = Date.now();
  const all = reads.value.map((read, index) => ({ ...read, request: { ...read.request, at: start + index } }));
  for (const { request } of all) remember(request);
  let faulty: number | undefined;
  await replaceRunning(async (signal) => {
    try {
      const answers = await executeAll(all, signal);
      if (signal.aborted) return;
      showOutcomes(all.map(({ key, request }, index) => [key, { kind: "answer", answer: answers[index] as Answer, request }]));
      announce(`${count(all.length, "tab")} read in ${milliseconds(Date.now() - start)}`);
    } catch (failure) {
      if (signal.aborted) return;
      const error = requestError(failure);
      const { key, request } = all[error.details.step ?? -1] ?? { key: openedTab.value, request: current() };
      faulty = key;
      showOutcomes([[key, { kind: "error", error, request }]]);
    }
  });
  if (faulty !== undefined) showTab(faulty);
}

/** Shows what requests returned, each in its tab. */
function showOutcomes(outcomes: readonly [number, Outcome][]): void {
  const byTab = new Map(outcomes);
  batch(() => {
    tabs.value = withActive().map((tab) => ({ ...tab, ...(byTab.has(tab.key) && { outcome: byTab.get(tab.key) ?? null, cursors: [null] }) }));
    const shown = byTab.get(openedTab.value);
    if (shown) {
      showOutcome(shown);
      cursors.value = [null];
    }
  });
}

/** Stores the tabs for a reload of the page. */
export function storeTabs(): void {
  storedTabs.store({ tabs: withActive().map(({ key, draft }) => ({ key, draft })), active: openedTab.value });
}

/** Opens the tabs that were stored, if they belong to the schema. */
export function restoreTabs(known: Schema): void {
  const stored = storedTabs.load();
  const read = stored?.tabs.filter(({ key, draft }) => key === stored.active || fits(known, draft)) ?? [];
  if (!stored || read.length < 2 || !read.some(({ key }) => key === stored.active)) return;
  const active = read.find(({ key }) => key === stored.active);
  batch(() => {
    tabs.value = read.map(({ key, draft }) => ({ key, draft, outcome: null, cursors: [null] }));
    openedTab.value = stored.active;
    // Otherwise, another tab that is shown next would leave this one empty.
    if (active && fits(known, active.draft)) restoreDraft(active.draft);
  });
}

/** Discards the results of all tabs. */
export function forgetResults(): void {
  tabs.value = tabs.value.map((tab) => ({ ...tab, outcome: null, cursors: [null] }));
}

/** Returns the name of a tab: what its query reads. */
export function tabName({ query, format, id, name }: SavedQuery): string {
  if (name !== undefined) return name;
  const entity = readQuery(format, query)?.entity ?? "query";
  return id === "" ? entity : `${entity}/${id}`;
}
