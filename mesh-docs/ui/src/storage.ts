// Browser storage of history, saved queries and the theme, and encoding of share links.

import { effect, signal } from "@preact/signals";
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
}

const HISTORY_MAX = 60;
const prefix = `mesh ${config.docs}`;

function load<T>(name: string, fallback: T): T {
  try {
    return (JSON.parse(localStorage.getItem(`${prefix} ${name}`) ?? "null") as T) ?? fallback;
  } catch {
    return fallback;
  }
}

function store(name: string, value: unknown): void {
  try {
    localStorage.setItem(`${prefix} ${name}`, JSON.stringify(value));
  } catch {
    // The page works without storage.
  }
}

export const history = signal<SavedQuery[]>(load("history", []));
export const named = signal<SavedQuery[]>(load("named", []));

/** Adds a run to the history, or moves an equal one to the top. */
export function remember(saved: SavedQuery): void {
  const same = (one: SavedQuery): boolean => (["query", "format", "id", "params"] as const).every((key) => one[key] === saved[key]);
  history.value = [saved, ...history.value.filter((one) => !same(one))].slice(0, HISTORY_MAX);
  store("history", history.value);
}

export function clearHistory(): void {
  history.value = [];
  store("history", []);
}

export function saveNamed(saved: SavedQuery & { name: string }): void {
  const others = named.value.filter((one) => one.name !== saved.name);
  named.value = [...others, saved].sort((one, other) => (one.name ?? "").localeCompare(other.name ?? ""));
  store("named", named.value);
}

export function removeNamed(name: string): void {
  named.value = named.value.filter((one) => one.name !== name);
  store("named", named.value);
}

export type Theme = "dark" | "light";

export const theme = signal<Theme>(load<Theme | null>("theme", null) ?? (document.documentElement.dataset["theme"] as Theme));

export function setTheme(next: Theme): void {
  theme.value = next;
  document.documentElement.dataset["theme"] = next;
  store("theme", next);
}

/** Widths of resized panes in pixels. */
export const widths = signal<{ side?: number | undefined; query?: number | undefined }>(load("widths", {}));
effect(() => store("widths", widths.value));

export const draft = {
  load: (): SavedQuery | null => load<SavedQuery | null>("draft", null),
  store: (saved: SavedQuery): void => store("draft", saved),
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
