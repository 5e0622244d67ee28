// The state that all views share, and the actions that change it.

import { batch, computed, effect, signal } from "@preact/signals";
import { execute, fetchSchema, RequestError, type Answer } from "./api/client";
import { bearer, hasCredentials, session } from "./api/session";
import { isBackward, setControl, toggle, withControlsOf, withCursor } from "./query/edit";
import { member } from "./query/json";
import { parametersOf, paramsText, textsOf, valuesFor, type Texts } from "./query/params";
import { printQuery } from "./query/print";
import { plain, readQuery } from "./query/read";
import { emptyNode, needsJson, newQuery, NO_SPAN, type Format, type Query, type Selection, type Value } from "./query/tree";
import { entityOf, starterFields, starterRelation, type Entity, type Schema } from "./schema";
import { draft, remember, shared, type SavedQuery } from "./storage";

export const schema = signal<Schema | null>(null);
export const schemaError = signal<RequestError | null>(null);
export const text = signal("");
export const format = signal<Format>("json");
/** The id of a point read; empty for a collection. */
export const recordId = signal("");
/** The tree of the text, or of the last text that was a query. */
export const query = signal<Query | undefined>(undefined);
export const isQuery = signal(true);
/** The parameters of the query. */
export const parameters = computed(() => parametersOf(schema.value, query.value));
/** The values of parameters as typed, also of those that other queries have. */
export const paramTexts = signal<Texts>({});
/** The values of the query's parameters; `undefined` if it has none. */
export const params = computed(() => paramsText(parameters.value, paramTexts.value));

export type Outcome = { kind: "answer"; answer: Answer; request: SavedQuery } | { kind: "error"; error: RequestError };
export const outcome = signal<Outcome | null>(null);
export const running = signal(false);
/** Cursors of the pages up to the shown one; the first page has none. */
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
interface PageInfo {
  hasNextPage?: boolean;
  endCursor?: string | null;
  hasPreviousPage?: boolean;
  startCursor?: string | null;
  totalCount?: number;
}
/** What the result says about its page. */
export const pageInfo = computed((): PageInfo => {
  const info = outcome.value?.kind === "answer" ? member(outcome.value.answer.data, "pageInfo") : undefined;
  return info ? (plain(info) as PageInfo) : {};
});
/** Whether the pages of the result are read from its end. */
export const fromEnd = computed(() => {
  if (outcome.value?.kind !== "answer") return false;
  const { format, query } = outcome.value.request;
  return isBackward(readQuery(format, query));
});
/** The cursor of the page that is read next: the one after the shown page or, from the end, the one before it. */
export const nextCursor = computed(() => {
  const { hasNextPage, endCursor, hasPreviousPage, startCursor } = pageInfo.value;
  const [more, cursor] = fromEnd.value ? [hasPreviousPage, startCursor] : [hasNextPage, endCursor];
  return (more && cursor) || null;
});

let noticeTimer = 0;
export function notify(message: string, bad = false): void {
  notice.value = { text: message, bad };
  window.clearTimeout(noticeTimer);
  noticeTimer = window.setTimeout(() => (notice.value = null), bad ? 6000 : 3000);
}

/** Replaces the text. The editor follows the signal. */
export function setText(next: string): void {
  batch(() => {
    text.value = next;
    const tree = readQuery(format.value, next);
    isQuery.value = tree !== undefined;
    if (tree) query.value = tree;
  });
}

/** Returns the tree of the current text, which may be invalid. */
function parsed(): Query | undefined {
  return readQuery(format.value, text.value);
}

function notifyInvalid(): void {
  notify("The text is not a valid query. Correct or undo it, then try again.", true);
}

/** Changes the query through its tree. */
export function change(act: (query: Query) => Query): void {
  const tree = parsed();
  if (tree) show(act(tree));
  else notifyInvalid();
}

function show(next: Query): void {
  if (format.value === "ql" && needsJson(next)) setFormat("json");
  setText(next.root.select.length === 0 && format.value === "ql" ? "" : printQuery(format.value, next));
}

export function toggleField(entity: string, refs: readonly string[], name: string): void {
  const known = schema.value;
  if (!known) return;
  const tree = parsed();
  if (!tree && text.value.trim() !== "" && query.value?.entity === entity) return notifyInvalid();
  batch(() => {
    if (tree?.entity !== entity) recordId.value = "";
    show(toggle(known, tree, entity, refs, name));
  });
}

export function setNodeControl(refs: readonly string[], control: string, value: Value | undefined): void {
  change((tree) => setControl(tree, refs, control, value));
}

/** The last query that the brace format could not express entirely. The rest returns with the JSON format. */
let withControls: Query | undefined;

export function setFormat(next: Format): void {
  if (next === format.value) return;
  const tree = parsed();
  if (!tree && text.value.trim() !== "") return notifyInvalid();
  if (tree && next === "ql" && !readQuery("ql", printQuery("ql", tree))) {
    return notify("The brace format cannot express this query: it selects no fields.", true);
  }
  batch(() => {
    if (tree && next === "ql" && needsJson(tree)) {
      withControls = tree;
      notify("The brace format supports the selection only. Filters, order, page and aliases return when you switch back to JSON.");
    }
    format.value = next;
    if (tree) setText(printQuery(next, next === "json" ? withControlsOf(tree, withControls) : tree));
  });
}

export function formatText(): void {
  change((tree) => tree);
}

export function startQuery(entity: string): void {
  const known = schema.value;
  const found = known && entityOf(known, entity);
  if (!found) return;
  const leaf = (name: string): Selection => ({ name, span: NO_SPAN });
  const select = starterFields(found).map(leaf);
  const relation = starterRelation(known, found);
  if (relation) select.push({ ...leaf(relation.name), node: { ...emptyNode(), select: [leaf(relation.field)] } });
  batch(() => {
    recordId.value = "";
    show({ ...newQuery(entity), root: { ...emptyNode(), select } });
  });
}

export function open(saved: SavedQuery): void {
  batch(() => {
    format.value = saved.format;
    recordId.value = saved.id;
    setText(saved.query);
    try {
      paramTexts.value = { ...paramTexts.value, ...textsOf(parameters.value, saved.params) };
    } catch {
      // A link can have anything for the values. The form shows those that are missing.
    }
    pane.value = "query";
  });
}

export function current(): SavedQuery {
  return { query: text.value, format: format.value, id: recordId.value, params: params.value, at: Date.now() };
}

/** Runs the query in the editor. */
export async function run(explain = false): Promise<void> {
  cursors.value = [null];
  const request = current();
  remember(request);
  await send(request, explain);
}

export async function nextPage(): Promise<void> {
  const cursor = nextCursor.value;
  if (cursor) await showPage([...cursors.value, cursor]);
}

export async function previousPage(): Promise<void> {
  if (cursors.value.length > 1) await showPage(cursors.value.slice(0, -1));
}

/** Shows a page of the query that was run, which may differ from the text in the editor. */
async function showPage(next: (string | null)[]): Promise<void> {
  if (outcome.value?.kind !== "answer") return;
  const { request } = outcome.value;
  const tree = readQuery(request.format, request.query);
  const cursor = next.at(-1) ?? null;
  if (!tree) return;
  if (cursor === null) {
    await send(request, false);
  } else {
    // The cursor may take the place of a parameter, which then has no value.
    const paged = withCursor(tree, cursor);
    await send({ ...request, query: printQuery("json", paged), format: "json", params: valuesFor(paged, request.params) }, false, request);
  }
  cursors.value = next;
}

function requestError(error: unknown): RequestError {
  return error instanceof RequestError ? error : new RequestError(0, "Error", String(error));
}

let abort: AbortController | undefined;

/** Sends a request. `origin` is the request for the first page. */
async function send(request: SavedQuery, explain: boolean, origin = request): Promise<void> {
  abort?.abort();
  const controller = (abort = new AbortController());
  running.value = true;
  pane.value = "result";
  try {
    const answer = await execute(request, explain, controller.signal);
    batch(() => {
      outcome.value = { kind: "answer", answer, request: origin };
      const list = member(answer.data, "items");
      if (resultTab.value === "watch" || (resultTab.value === "table" && !list)) resultTab.value = "json";
    });
  } catch (failure) {
    if (controller.signal.aborted) return;
    const error = requestError(failure);
    outcome.value = { kind: "error", error };
    if (error.status === 401) dialog.value = "login";
  } finally {
    if (abort === controller) running.value = false;
  }
}

async function loadSchema(): Promise<void> {
  try {
    const loaded = await fetchSchema();
    batch(() => {
      schema.value = loaded;
      schemaError.value = null;
    });
    showFirstQuery(loaded);
  } catch (failure) {
    const error = requestError(failure);
    schemaError.value = error;
    if (error.status === 401 && hasCredentials) dialog.value = "login";
  }
}

/** Fills the empty editor with a shared query, the draft, or a query of the entity with the most relations. */
function showFirstQuery({ entities }: Schema): void {
  if (text.value !== "") return;
  const link = shared();
  const saved = link ?? draft.load();
  const weight = ({ joins, fields }: Entity): number => joins.length * 100 + fields.length;
  const [richest] = entities.toSorted((left, right) => weight(right) - weight(left));
  if (saved) open(saved);
  else if (richest) startQuery(richest.name);
  if (link) history.replaceState(null, "", location.pathname + location.search);
}

/** Loads the schema, now and after each login, and stores drafts. */
export function start(): void {
  let timer = 0;
  effect(() => {
    const saved = { ...current(), at: 0 };
    window.clearTimeout(timer);
    if (saved.query !== "") timer = window.setTimeout(() => draft.store(saved), 300);
  });
  let known: string | undefined;
  effect(() => {
    const token = session.value?.token ?? bearer.value;
    if (known !== undefined && token !== "" && token !== known) void loadSchema();
    known = token;
  });
  window.addEventListener("hashchange", () => {
    const link = shared();
    if (link) open(link);
  });
  void loadSchema();
}
