// Storage of history, saved queries and settings in this browser, and encoding of share links.
//
// History and saved queries are shared by the tabs of the browser: each change begins with what is stored, and each tab
// follows the changes of the others. Drafts belong to one tab.

import { effect, signal, type Signal } from "@preact/signals";
import { config } from "./config";
import { base64Url, fromBase64Url } from "./api/bytes";
import type { Format } from "./query/tree";

export interface SavedQuery {
  query: string;
  format: Format;
  id: string;
  at: number;
  name?: string;
  /** The values of parameters, as the text of a JSON object. */
  params?: string | undefined;
  /** The key of the schema that the query was written for. */
  schema?: string;
  /** What its run returned. */
  result?: RunResult;
}

export interface RunResult {
  /** The status of the reply; 0 without one. */
  status: number;
  ms: number;
  rows: number;
}

const HISTORY_MAX = 60;
const prefix = `mesh ${config.docs}`;

function load<T>(name: string, fallback: T, area = localStorage): T {
  try {
    return (JSON.parse(area.getItem(`${prefix} ${name}`) ?? "null") as T) ?? fallback;
  } catch {
    return fallback;
  }
}

function store(name: string, value: unknown, area = localStorage): void {
  try {
    area.setItem(`${prefix} ${name}`, JSON.stringify(value));
  } catch {
    // The page works without storage.
  }
}

/** A list that all tabs share. */
interface Shared<T> {
  list: Signal<T[]>;
  change: (act: (list: T[]) => T[]) => void;
}

function sharedList<T>(name: string): Shared<T> {
  const list = signal<T[]>(load(name, []));
  window.addEventListener("storage", ({ key }) => {
    if (key === null || key === `${prefix} ${name}`) list.value = load(name, []);
  });
  const change = (act: (list: T[]) => T[]): void => {
    list.value = act(load(name, list.value));
    store(name, list.value);
  };
  return { list, change };
}

const runs = sharedList<SavedQuery>("history");
const names = sharedList<SavedQuery>("named");
export const history = runs.list;
export const named = names.list;

/** The key of the loaded schema, which is stored with queries. */
export const schemaKey = signal("");

/** Adds a run to the history, or moves an equal one to the top. */
export function remember(saved: SavedQuery): void {
  const same = (one: SavedQuery): boolean => (["query", "format", "id", "params"] as const).every((key) => one[key] === saved[key]);
  runs.change((list) => [{ ...saved, schema: schemaKey.value }, ...list.filter((one) => !same(one))].slice(0, HISTORY_MAX));
}

/** Notes what a run returned. */
export function rememberResult(at: number, result: RunResult): void {
  runs.change((list) => list.map((one) => (one.at === at ? { ...one, result } : one)));
}

/** Removes the runs that are shown. */
export function clearHistory(shown: readonly SavedQuery[]): void {
  const times = new Set(shown.map(({ at }) => at));
  runs.change((list) => list.filter(({ at }) => !times.has(at)));
}

export type NamedQuery = SavedQuery & { name: string };

/** Saves a query under its name. Returns whether it replaced one. */
export function saveNamed(saved: NamedQuery): boolean {
  const added = { ...saved, schema: schemaKey.value };
  const isSame = (one: SavedQuery): boolean => one.name === saved.name && (one.schema ?? added.schema) === added.schema;
  const isOld = named.peek().some(isSame);
  names.change((list) => [...list.filter((one) => !isSame(one)), added].sort((one, other) => (one.name ?? "").localeCompare(other.name ?? "")));
  return isOld;
}

export function removeNamed(saved: SavedQuery): void {
  names.change((list) => list.filter((one) => one.name !== saved.name || one.schema !== saved.schema));
}

/** The tabs of this page with their drafts. */
export interface StoredTabs {
  tabs: { key: number; draft: SavedQuery }[];
  active: number;
}
export const storedTabs = {
  load: (): StoredTabs | null => load<StoredTabs | null>("tabs", null, sessionStorage),
  store: (tabs: StoredTabs): void => store("tabs", tabs, sessionStorage),
};

export type Theme = "dark" | "light";

const prefersLight = window.matchMedia("(prefers-color-scheme: light)");
/** The theme of the server's settings; `system` follows the settings of the reader. */
const initial = document.documentElement.dataset["theme"];
const chosen = signal<Theme | null>(load<Theme | null>("theme", null));

function fallbackTheme(): Theme {
  if (initial === "dark" || initial === "light") return initial;
  return prefersLight.matches ? "light" : "dark";
}

export const theme = signal<Theme>(chosen.value ?? fallbackTheme());
effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});
prefersLight.addEventListener("change", () => {
  if (!chosen.value) theme.value = fallbackTheme();
});

export function setTheme(next: Theme): void {
  chosen.value = theme.value = next;
  store("theme", next);
}

/** Returns the columns of an entity that were chosen in the data browser. */
export function storedColumns(entity: string): string[] | undefined {
  return load<string[] | null>(`columns ${schemaKey.value} ${entity}`, null) ?? undefined;
}

export function storeColumns(entity: string, columns: string[]): void {
  store(`columns ${schemaKey.value} ${entity}`, columns);
}

/** Widths of resized panes in pixels. */
export const widths = signal<{ side?: number | undefined; query?: number | undefined }>(load("widths", {}));
effect(() => store("widths", widths.value));

/** The draft of this tab and, for new tabs, the one that was changed last in any tab. */
export const draft = {
  load: (): SavedQuery | null => load<SavedQuery | null>("draft", null, sessionStorage) ?? load<SavedQuery | null>("draft", null),
  store: (saved: SavedQuery): void => {
    const kept = { ...saved, schema: schemaKey.value };
    store("draft", kept, sessionStorage);
    store("draft", kept);
  },
};

/** Returns a link to this page with the query in its fragment, which browsers do not send. */
export function shareLink({ query, format, id, params }: SavedQuery): string {
  const { origin, pathname } = location;
  return `${origin}${pathname}#q=${base64Url(JSON.stringify([query, format, id, params]))}`;
}

/** Returns the query of a link made by `shareLink`, if the page was opened by one. */
export function shared(): SavedQuery | null {
  const match = /^#q=([\w-]+)$/.exec(location.hash);
  if (!match) return null;
  try {
    const [query, format, id, params] = JSON.parse(fromBase64Url(match[1] ?? "")) as unknown[];
    if (typeof query !== "string" || (format !== "json" && format !== "ql") || typeof id !== "string") return null;
    return { query, format, id, at: Date.now(), ...(typeof params === "string" && { params }) };
  } catch {
    return null;
  }
}
