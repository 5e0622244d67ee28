// The state that all views share, and the actions that change it.

import { batch, computed, signal } from "@preact/signals";
import type { RequestError } from "./api/client";
import { notify } from "./notice";
import { setControl, setWhere, toggle, withControlsOf } from "./query/edit";
import { parametersOf, paramsText, textsOf, type Texts } from "./query/params";
import { printQuery } from "./query/print";
import { readQuery } from "./query/read";
import { emptyNode, needsJson, newQuery, NO_SPAN, type Format, type Query, type Selection, type Value } from "./query/tree";
import { entityOf, starterFields, starterRelation, type Schema } from "./schema";
import type { SavedQuery } from "./storage";

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

/** What the page shows: the editor with its results, the rows of an entity, or the schema as a picture. */
export type Mode = "query" | "data" | "diagram";
export const mode = signal<Mode>("query");
export type Pane = "schema" | "query" | "result";
export const pane = signal<Pane>("query");
export type SideTab = "schema" | "saved";
export const sideTab = signal<SideTab>("schema");
export type Dialog = "login" | "palette" | "keys" | "save" | "register" | "viewAs" | "staged" | null;
export const dialog = signal<Dialog>(null);
/** How often another query was opened, so that the browser can go back to the one before. */
export const opened = signal(0);

/** The key of the tab whose query is in the editor. */
export const openedTab = signal(1);

export const isPoint = computed(() => recordId.value !== "");

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

/** Sets `$where` of a node. */
export function setNodeWhere(refs: readonly string[], where: Value | undefined): void {
  change((tree) => setWhere(tree, refs, where));
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
    opened.value += 1;
  });
}

/** Puts a query into the editor. */
export function restoreDraft(saved: SavedQuery): void {
  batch(() => {
    format.value = saved.format;
    recordId.value = saved.id;
    setText(saved.query);
    try {
      paramTexts.value = { ...paramTexts.value, ...textsOf(parameters.value, saved.params) };
    } catch {
      // A link can have anything for the values. The form shows those that are missing.
    }
  });
}

/** Opens a query instead of the one in the editor. */
export function open(saved: SavedQuery): void {
  batch(() => {
    restoreDraft(saved);
    pane.value = "query";
    opened.value += 1;
  });
}

export function current(): SavedQuery {
  return { query: text.value, format: format.value, id: recordId.value, params: params.value, at: Date.now() };
}
