// Browser storage of history, saved queries and the theme, and encoding of share links.

import { effect, signal } from "@preact/signals";
import { config } from "./config";
import { base64Url, fromBase64Url } from "./api/bytes";
import type { Format } from "./query/tree";

export interface Kept {
  query: string;
  format: Format;
  id: string;
  at: number;
  name?: string;
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
    // A full or forbidden store costs the history, not the page.
  }
}

export const history = signal<Kept[]>(load("history", []));
export const named = signal<Kept[]>(load("named", []));

/** Adds a run to the history; one that was there moves to its top. */
export function remember(kept: Kept): void {
  const same = (one: Kept): boolean => one.query === kept.query && one.format === kept.format && one.id === kept.id;
  history.value = [kept, ...history.value.filter((one) => !same(one))].slice(0, HISTORY_MAX);
  store("history", history.value);
}

export function clearHistory(): void {
  history.value = [];
  store("history", []);
}

export function saveNamed(kept: Kept & { name: string }): void {
  const others = named.value.filter((one) => one.name !== kept.name);
  named.value = [...others, kept].sort((one, other) => (one.name ?? "").localeCompare(other.name ?? ""));
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

/** Widths of parts of the page that were dragged, in pixels. */
export const widths = signal<{ side?: number | undefined; query?: number | undefined }>(load("widths", {}));
effect(() => store("widths", widths.value));

export const draft = {
  load: (): Kept | null => load<Kept | null>("draft", null),
  store: (kept: Kept): void => store("draft", kept),
};

/** A link to this page with the query in its fragment, which browsers do not send. */
export function shareLink(query: string, format: Format, id: string): string {
  const { origin, pathname } = location;
  return `${origin}${pathname}#q=${base64Url(JSON.stringify([query, format, id]))}`;
}

/** The query of a share link, if the page was opened by one. */
export function shared(): Kept | null {
  const match = /^#q=([\w-]+)$/.exec(location.hash);
  if (!match) return null;
  try {
    const [query, format, id] = JSON.parse(fromBase64Url(match[1] ?? "")) as unknown[];
    if (typeof query !== "string" || (format !== "json" && format !== "ql") || typeof id !== "string") return null;
    return { query, format, id, at: Date.now() };
  } catch {
    return null;
  }
}
