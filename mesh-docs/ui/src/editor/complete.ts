// Completion of names and keywords from the schema and the format.

import { snippetCompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import type { EditorView } from "@codemirror/view";
import { entityAt, type Schema } from "../schema";
import { contextAt, type CursorContext } from "../query/cursor";
import { entities, inJson, selections, type Offer, type Surroundings } from "./offers";

export function completer(surroundings: () => Surroundings) {
  return (context: CompletionContext): CompletionResult | null => {
    const around = surroundings();
    if (!around.schema) return null;
    const text = context.state.doc.toString();
    const cursor = contextAt(around.format, text, context.pos);
    if (!cursor) return null;
    const typed = context.pos > cursor.from;
    const last = text.slice(0, context.pos).trimEnd().at(-1);
    if (!context.explicit && !typed && (around.format === "ql" || !/[{:[,]/.test(last ?? ""))) return null;
    const offers = around.format === "ql" ? inQl(around.schema, cursor) : inJson(around.schema, cursor, around, text.slice(cursor.from, context.pos));
    if (offers.length === 0) return null;
    // The word may have a closing quote.
    const rest = /^[\w$.]*"?/.exec(text.slice(context.pos))?.[0] ?? "";
    const to = around.format === "json" && text[cursor.from] === '"' ? context.pos + rest.length : context.pos;
    const options = offers.map(({ insert, ...one }) => ({ ...one, apply: applying(insert, cursor, to) }));
    const filterFrom = text[cursor.from] === '"' ? cursor.from + 1 : cursor.from;
    return { from: filterFrom, options, validFor: /^[\w$]*$/ };
  };
}

/** Replaces the word at the cursor by an offer, with the commas that are missing around it. */
function applying(insert: string, cursor: CursorContext, to: number) {
  return (view: EditorView, completion: Completion, _from: number, until: number): void => {
    const end = Math.max(to, until);
    const after = view.state.sliceDoc(end, end + 200).trimStart()[0];
    const isMember = cursor.slot === "key" && insert.startsWith('"');
    const closing = isMember && after === '"' ? "," : "";
    if (cursor.comma !== undefined && isMember) {
      view.dispatch({ changes: { from: cursor.comma, insert: "," } });
      insertSnippet(view, completion, insert + closing, cursor.from + 1, end + 1);
    } else {
      insertSnippet(view, completion, insert + closing, cursor.from, end);
    }
  };
}

function insertSnippet(view: EditorView, completion: Completion, insert: string, from: number, to: number): void {
  const made = snippetCompletion(insert, { label: completion.label });
  if (typeof made.apply === "function") made.apply(view, made, from, to);
}

function inQl(schema: Schema, cursor: CursorContext): Offer[] {
  const [root, ...refs] = cursor.path;
  if (root === undefined) return cursor.before.length === 0 ? entities(schema, false) : [];
  return selections(entityAt(schema, root, refs), cursor.before, false, schema);
}
