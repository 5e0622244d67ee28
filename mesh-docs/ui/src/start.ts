// What happens without an action of the user: the schema is loaded, drafts are stored, and the browser's history is followed.

import { batch, effect, untracked } from "@preact/signals";
import { fetchSchema } from "./api/client";
import { awaitExpiry, bearer, hasCredentials, lapsed, session } from "./api/session";
import { viewAs } from "./api/viewAs";
import { forgetRows, place, restorePlace, type Place } from "./browse/state";
import { fits, keyOf } from "./query/fits";
import { cancel, outcome, requestError } from "./run";
import { entityOf, type Entity, type Schema } from "./schema";
import { forgetSent } from "./sent";
import { current, dialog, mode, opened, openedTab, open, schema, schemaError, startQuery, text, type Mode } from "./state";
import { draft, schemaKey, shared, type SavedQuery } from "./storage";
import { forgetResults, restoreTabs, showTab, storeTabs, tabs } from "./tabs";
import { forgetWatched } from "./watching";
import { staged } from "./write/staged";

/** How long a draft stays unchanged before it is stored. */
const STORE_DELAY_MS = 300;

/** Counts the loads, so that a late reply does not replace a newer one. */
let loads = 0;

/** Keeps the browser from showing a file in place of the page if it is dropped where no field takes it. */
function ignoreStrayFiles(event: DragEvent): void {
  const takes = event.target instanceof Element && event.target.closest('input[type="file"], [contenteditable="true"]');
  if (event.defaultPrevented || takes || !event.dataTransfer?.types.includes("Files")) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "none";
}

/** Loads the schema, or what has changed in it. */
export async function loadSchema(): Promise<void> {
  const load = (loads += 1);
  try {
    const loaded = await fetchSchema();
    if (load !== loads) return;
    const isFirst = schema.value === null;
    if (JSON.stringify(loaded) !== JSON.stringify(schema.value)) {
      batch(() => {
        schemaKey.value = keyOf(loaded);
        schema.value = loaded;
      });
    }
    schemaError.value = null;
    if (isFirst) showFirstQuery(loaded);
  } catch (failure) {
    if (load !== loads) return;
    const error = requestError(failure);
    schemaError.value = error;
    if (error.status === 401 && hasCredentials) dialog.value = "login";
  }
}

/** Whether the page was loaded again. Its entry in the browser's history may be older than the draft of the tab. */
function isReload(): boolean {
  const [navigation] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  return navigation?.type === "reload";
}

/** Fills the empty editor: with a shared query, the draft of this tab, or a query of the entity with the most relations. */
function showFirstQuery(known: Schema): void {
  if (text.value !== "") return;
  restoreTabs(known);
  const link = shared();
  const entry = entryOf(history.state);
  const stored = draft.load();
  const weight = ({ joins, fields }: Entity): number => joins.length * 100 + fields.length;
  const [richest] = known.entities.toSorted((left, right) => weight(right) - weight(left));
  if (link) open(link);
  else if (entry && fits(known, entry.draft)) restore(known, isReload() && stored && fits(known, stored) ? { ...entry, draft: stored, tab: openedTab.value } : entry);
  else if (stored && fits(known, stored)) open(stored);
  else if (richest) startQuery(richest.name);
  replaceEntry();
}

/** An entry of the browser's history: the query in the editor, and what the data browser shows. */
interface Entry {
  draft: SavedQuery;
  mode: Mode;
  place: Place | null;
  /** The tab of the query. */
  tab: number;
}

function entryOf(state: unknown): Entry | null {
  return (state as Entry | null)?.draft ? (state as Entry) : null;
}

/** Puts the current state into the entry of the browser's history. Its URL is that of the page, without a shared query. */
function replaceEntry(entry = currentEntry()): void {
  history.replaceState(entry, "", location.pathname + location.search);
}

function currentEntry(): Entry {
  return { draft: { ...current(), schema: schemaKey.value }, mode: mode.value, place: place.value, tab: openedTab.value };
}

/** Shows the state of an entry. The data browser shows nothing of another schema. */
function restore(known: Schema, entry: Entry): void {
  showTab(entry.tab);
  open(entry.draft);
  const isKnown = entry.place !== null && entityOf(known, entry.place.view.entity) !== undefined && entry.draft.schema === schemaKey.value;
  restorePlace(isKnown ? entry.place : null);
  mode.value = entry.mode ?? "query";
}

/** Stores the draft of this tab, and lets the browser go back to queries that were opened before. */
function followHistory(): void {
  let timer = 0;
  let isRestoring = false;
  const store = (): void => {
    window.clearTimeout(timer);
    if (text.peek() === "") return;
    draft.store({ ...current(), at: 0 });
    storeTabs();
    replaceEntry();
  };
  let stored = opened.peek();
  let latest = currentEntry();
  effect(() => {
    void tabs.value;
    const entry = currentEntry();
    window.clearTimeout(timer);
    const isOther = opened.value !== stored;
    stored = opened.value;
    // The first query is no step from another one.
    if (isOther && !isRestoring && entryOf(history.state)) {
      // The last changes before this step may not be stored yet.
      replaceEntry(latest);
      history.pushState(null, "", location.pathname + location.search);
    }
    latest = entry;
    if (isOther) store();
    else timer = window.setTimeout(store, STORE_DELAY_MS);
  });
  window.addEventListener("popstate", ({ state }) => {
    const entry = entryOf(state);
    if (!entry || !schema.value) return;
    isRestoring = true;
    restore(schema.value, entry);
    isRestoring = false;
  });
  window.addEventListener("hashchange", () => {
    const link = shared();
    if (!link) return;
    // The link has an entry of its own already.
    isRestoring = true;
    open(link);
    isRestoring = false;
    replaceEntry();
  });
  window.addEventListener("pagehide", store);
}

/** Discards what another caller has read. */
function forget(): void {
  cancel();
  forgetWatched();
  forgetRows();
  forgetResults();
  forgetSent();
  batch(() => {
    staged.value = [];
    schema.value = null;
    outcome.value = null;
  });
}

/** Follows logins, logouts, and whom the data is viewed as. A session that has ended keeps the page as it is until the user decides. */
function followCaller(): void {
  let caller: string | undefined;
  let viewed: string | undefined;
  effect(() => {
    const next = session.value ? `session ${session.value.login}` : `bearer ${bearer.value}`;
    const before = caller;
    if (lapsed.value !== null) {
      caller ??= next;
      untracked(cancel);
      dialog.value = "login";
      return;
    }
    caller = next;
    // Another caller begins as itself.
    if (before !== undefined && before !== next) viewAs.value = null;
    const [view, viewBefore] = [JSON.stringify(viewAs.value), viewed];
    viewed = view;
    if (before === undefined) return;
    // Another token of the same user changes nothing but the schema that is visible.
    if (before !== next || view !== viewBefore) untracked(forget);
    untracked(() => void loadSchema());
  });
}

export function start(): void {
  awaitExpiry();
  followHistory();
  followCaller();
  for (const type of ["dragover", "drop"] as const) window.addEventListener(type, ignoreStrayFiles);
  // The schema may have changed while the page was in the background.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && schema.value) void loadSchema();
  });
  void loadSchema();
}
