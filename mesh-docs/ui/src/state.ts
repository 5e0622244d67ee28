// The state that all views share, and the actions that change it.

import { batch, computed, effect, signal } from "@preact/signals";
import { execute, fetchSchema, Refused, type Answer } from "./api/client";
import { session } from "./api/session";
import { config } from "./config";
import { setControl, toggle, withControlsOf, withCursor } from "./query/edit";
import { member } from "./query/json";
import { printQuery } from "./query/print";
import { plain, readQuery } from "./query/read";
import { emptyNode, hasControls, newQuery, NOWHERE, type Format, type Query, type Selection, type Value } from "./query/tree";
import { entityOf, starterFields, starterRelation, type Schema } from "./schema";
import { draft, remember, shared, type Kept } from "./storage";

export const schema = signal<Schema | null>(null);
export const schemaError = signal<Refused | null>(null);
export const text = signal("");
export const format = signal<Format>("json");
/** The record of a point read; empty for a collection. */
export const recordId = signal("");
/** The tree of the text; of the last text that was a query while it is being typed. */
export const query = signal<Query | undefined>(undefined);
export const isQuery = signal(true);

export type Outcome = { kind: "answer"; answer: Answer; asked: Kept; entity: string } | { kind: "refused"; refused: Refused };
export const outcome = signal<Outcome | null>(null);
export const running = signal(false);
/** Cursors of the pages up to the one that is shown; the first page has none. */
export const cursors = signal<(string | null)[]>([null]);

export type ResultTab = "json" | "table" | "plan" | "sql" | "watch";
export const resultTab = signal<ResultTab>("json");
export type Pane = "schema" | "query" | "result";
export const pane = signal<Pane>("query");
export type SideTab = "schema" | "saved";
export const sideTab = signal<SideTab>("schema");
export type Dialog = "login" | "palette" | "keys" | "save" | "register" | null;
export const dialog = signal<Dialog>(null);
export const notice = signal<{ text: string; bad: boolean } | null>(null);

export const isPoint = computed(() => recordId.value !== "");
export const nextCursor = computed(() => {
  if (outcome.value?.kind !== "answer") return null;
  const info = member(outcome.value.answer.data, "pageInfo");
  const page = info ? (plain(info) as { hasNextPage?: boolean; endCursor?: string | null }) : {};
  return page.hasNextPage && page.endCursor ? page.endCursor : null;
});

let noticeTimer = 0;
export function say(words: string, bad = false): void {
  notice.value = { text: words, bad };
  window.clearTimeout(noticeTimer);
  noticeTimer = window.setTimeout(() => (notice.value = null), bad ? 6000 : 3000);
}

/** Takes a text into the state. The editor is told by the signal. */
export function setText(next: string): void {
  batch(() => {
    text.value = next;
    const read = readQuery(format.value, next);
    isQuery.value = read !== undefined;
    if (read) query.value = read;
  });
}

/** Changes the query by its tree; a text that is no query has none to change. */
export function change(act: (query: Query) => Query): void {
  const current = readQuery(format.value, text.value);
  if (!current) {
    say("The text is not a valid query. Correct it or undo, then click again.", true);
    return;
  }
  show(act(current));
}

function show(next: Query): void {
  if (format.value === "ql" && hasControls(next)) setFormat("json");
  setText(next.root.select.length === 0 && format.value === "ql" ? "" : printQuery(format.value, next));
}

export function toggleField(entity: string, refs: readonly string[], name: string): void {
  const known = schema.value;
  if (!known) return;
  const current = readQuery(format.value, text.value);
  if (!current && text.value.trim() !== "" && query.value?.entity === entity) {
    say("The text is not a valid query. Correct it or undo, then click again.", true);
    return;
  }
  const next = toggle(known, current, entity, refs, name);
  if (current?.entity !== entity) batch(() => ((recordId.value = ""), show(next)));
  else show(next);
}

export function setNodeControl(refs: readonly string[], control: string, value: Value | undefined): void {
  change((current) => setControl(current, refs, control, value));
}

/** The controls that the brace format cannot say, kept for the way back. */
let setAside: Query | undefined;

export function setFormat(next: Format): void {
  if (next === format.value) return;
  const current = readQuery(format.value, text.value);
  if (!current && text.value.trim() !== "") {
    say("The text is not a valid query. Correct it before switching the format.", true);
    return;
  }
  batch(() => {
    if (current && next === "ql" && hasControls(current)) {
      setAside = current;
      say("The brace format supports the selection only. Filters, order and page return when you switch back to JSON.");
    }
    format.value = next;
    if (current) setText(printQuery(next, next === "json" ? withControlsOf(current, setAside) : current));
  });
}

export function formatText(): void {
  change((current) => current);
}

export function startQuery(entity: string): void {
  const found = schema.value && entityOf(schema.value, entity);
  if (!found) return;
  const leaf = (name: string): Selection => ({ name, place: NOWHERE });
  const select = starterFields(found).map(leaf);
  const relation = starterRelation(schema.value as Schema, found);
  if (relation) select.push({ ...leaf(relation.name), node: { ...emptyNode(), select: [leaf(relation.field)] } });
  const base = newQuery(entity);
  batch(() => {
    recordId.value = "";
    show({ ...base, root: { ...base.root, select } });
  });
}

export function open(kept: Kept): void {
  batch(() => {
    format.value = kept.format;
    recordId.value = kept.id;
    setText(kept.query);
    pane.value = "query";
  });
}

export function current(): Kept {
  return { query: text.value, format: format.value, id: recordId.value, at: Date.now() };
}

let abort: AbortController | undefined;

/** Runs what is in the editor, from its first page or from that of its own `after`. */
export async function run(explain = false): Promise<void> {
  cursors.value = [null];
  const kept = current();
  remember(kept);
  await ask(kept, explain);
}

export async function nextPage(): Promise<void> {
  const cursor = nextCursor.value;
  if (cursor) await page([...cursors.value, cursor]);
}

export async function previousPage(): Promise<void> {
  if (cursors.value.length > 1) await page(cursors.value.slice(0, -1));
}

/** Pages on in the query that was run, whatever the editor holds by now. */
async function page(next: (string | null)[]): Promise<void> {
  if (outcome.value?.kind !== "answer") return;
  const { asked } = outcome.value;
  const tree = readQuery(asked.format, asked.query);
  const after = next.at(-1) ?? null;
  if (!tree) return;
  if (after === null) await ask(asked, false, asked);
  else await ask({ ...asked, query: printQuery("json", withCursor(tree, after)), format: "json" }, false, asked);
  cursors.value = next;
}

async function ask(kept: Kept, explain: boolean, asked = kept): Promise<void> {
  abort?.abort();
  const mine = new AbortController();
  abort = mine;
  running.value = true;
  pane.value = "result";
  try {
    const answer = await execute(kept, explain, mine.signal);
    batch(() => {
      outcome.value = { kind: "answer", answer, asked, entity: answer.meta.plan.entity };
      const list = member(answer.data, "items");
      if (resultTab.value === "watch" || (resultTab.value === "table" && !list)) resultTab.value = "json";
    });
  } catch (error) {
    if (mine.signal.aborted) return;
    const refused = error instanceof Refused ? error : new Refused(0, "Error", String(error));
    outcome.value = { kind: "refused", refused };
    if (refused.status === 401) dialog.value = "login";
  } finally {
    if (abort === mine) running.value = false;
  }
}

export async function loadSchema(): Promise<void> {
  try {
    const found = await fetchSchema();
    batch(() => {
      schema.value = found;
      schemaError.value = null;
    });
    begin(found);
  } catch (error) {
    const refused = error instanceof Refused ? error : new Refused(0, "Error", String(error));
    schemaError.value = refused;
    if (refused.status === 401 && config.integrity) dialog.value = "login";
  }
}

/** What the editor holds first: a shared query, what was there before, or a beginning. */
function begin(found: Schema): void {
  if (text.value !== "") return;
  const link = shared();
  const kept = link ?? draft.load();
  if (kept) open(kept);
  else {
    const richest = [...found.entities].sort((one, other) => weight(other) - weight(one))[0];
    if (richest) startQuery(richest.name);
  }
  if (link) history.replaceState(null, "", location.pathname + location.search);
}

function weight(entity: { joins: unknown[]; fields: unknown[] }): number {
  return entity.joins.length * 100 + entity.fields.length;
}

/** Keeps the draft, and asks for the schema anew when somebody has logged in. */
export function start(): void {
  let timer = 0;
  effect(() => {
    const kept = { query: text.value, format: format.value, id: recordId.value, at: 0 };
    window.clearTimeout(timer);
    if (kept.query !== "") timer = window.setTimeout(() => draft.store(kept), 300);
  });
  let known: string | undefined;
  effect(() => {
    const token = session.value?.token ?? "";
    if (known !== undefined && token !== "" && token !== known) void loadSchema();
    known = token;
  });
  window.addEventListener("hashchange", () => {
    const link = shared();
    if (link) open(link);
  });
  void loadSchema();
}
