// The tabs of queries. Each has a draft, the history of its edits, and its last result.

import { batch, signal } from "@preact/signals";
import { cancel, cursors, outcome, type Outcome } from "./run";
import { readQuery } from "./query/read";
import { current, openedTab, restoreDraft, schema, startQuery } from "./state";
import { storedTabs, type SavedQuery } from "./storage";
import { fits } from "./query/fits";
import type { Schema } from "./schema";

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
