// The query editor, bound to the text of the page.

import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, invertedEffects, isolateHistory } from "@codemirror/commands";
import { bracketMatching, foldKeymap, indentOnInput } from "@codemirror/language";
import { linter, lintKeymap, type Diagnostic } from "@codemirror/lint";
import { Compartment, EditorState, StateEffect, Transaction } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, placeholder } from "@codemirror/view";
import { batch, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { check } from "../api/client";
import { lapsed } from "../api/session";
import { localFaults } from "../query/faults";
import type { Span } from "../query/json";
import { isMissingValue, locate } from "../query/locate";
import type { Format } from "../query/tree";
import { run } from "../run";
import { format, isPoint, opened, openedTab, params, query, recordId, schema, setText, text } from "../state";
import { common, language } from "./base";
import { completer } from "./complete";

/** The pause in typing after which the text is checked. */
const CHECK_DELAY_MS = 250;

/** The change of a text to another format, which undo and redo take back with the text. */
const formatChange = StateEffect.define<{ from: Format; to: Format }>();
const undoFormat = invertedEffects.of(({ effects }) =>
  effects.flatMap((effect) => (effect.is(formatChange) ? [formatChange.of({ from: effect.value.to, to: effect.value.from })] : [])),
);

async function faults(view: EditorView): Promise<Diagnostic[]> {
  const source = view.state.doc.toString();
  const known = schema.value;
  // A check without the session that has ended would refuse what only the session may read.
  if (source.trim() === "" || !known || lapsed.value !== null) return [];
  const request = { query: source, format: format.value, id: recordId.value, params: params.value };
  const fault = await check(request).catch(() => undefined);
  if (!fault) return [];
  const { from, to } = locate(request.format, source, fault);
  const until = Math.min(to, source.length);
  const first: Diagnostic = {
    from: Math.min(from, until),
    to: until,
    // The query is valid without the values of its parameters.
    severity: isMissingValue(fault) ? "warning" : "error",
    message: fault.message,
    actions: actionsOf(fault.message),
  };
  const overlaps = (span: Span): boolean => span.from < first.to && first.from < span.to;
  const others = localFaults(known, request.format, source).filter((one) => !overlaps(one));
  return [first, ...others.map((one): Diagnostic => ({ ...one, severity: "error" }))].sort((one, other) => one.from - other.from);
}

/** Returns the correction that a message proposes. */
function actionsOf(message: string): NonNullable<Diagnostic["actions"]> {
  const better = /did you mean '([^']+)'\?/.exec(message)?.[1];
  if (better === undefined) return [];
  return [{ name: `Use ${better}`, apply: (view, from, to) => view.dispatch({ changes: { from, to, insert: better } }) }];
}

/** Returns the smallest change that turns a text into another, to keep cursor, folds and undo elsewhere. */
function difference(old: string, next: string): { from: number; to: number; insert: string } {
  let from = 0;
  while (from < old.length && from < next.length && old[from] === next[from]) from += 1;
  let [to, end] = [old.length, next.length];
  while (to > from && end > from && old[to - 1] === next[end - 1]) [to, end] = [to - 1, end - 1];
  return { from, to, insert: next.slice(from, end) };
}

export function QueryEditor() {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const parts = useRef({ language: new Compartment(), lint: new Compartment() });
  /** The format of the text in the editor. */
  const shown = useRef(format.peek());
  /** The tab of the text in the editor, and the states of the others, with the history of their edits. */
  const tab = useRef(openedTab.peek());
  const states = useRef(new Map<number, EditorState>());
  const makeState = useRef<((doc: string) => EditorState) | null>(null);

  useEffect(() => {
    if (!host.current) return;
    const around = () => ({ schema: schema.value, format: format.value, query: query.value, isPoint: isPoint.value });
    const runKey = { key: "Mod-Enter", run: () => (void run(), true) };
    const tabKey = { key: "Tab", run: acceptCompletion };
    const create = (doc: string): EditorState =>
      EditorState.create({
        doc,
        extensions: [
          keymap.of([runKey, tabKey, ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...foldKeymap]),
          history(),
          undoFormat,
          drawSelection(),
          highlightActiveLine(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          placeholder("Type a query, or click fields in the schema"),
          autocompletion({ override: [completer(around)], activateOnTyping: true, icons: false }),
          common,
          parts.current.language.of(language(format.peek())),
          parts.current.lint.of(linter(faults, { delay: CHECK_DELAY_MS })),
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.contentAttributes.of({ "aria-label": "Query", tabindex: "0" }),
          EditorView.updateListener.of((update) => {
            const changes = update.transactions.flatMap(({ effects }) => effects.filter((effect) => effect.is(formatChange)));
            batch(() => {
              for (const { value } of changes) format.value = shown.current = value.to;
              if (update.docChanged) setText(update.state.doc.toString());
            });
          }),
        ],
      });
    makeState.current = create;
    const view = new EditorView({ parent: host.current, state: create(text.peek()) });
    editor.current = view;
    return () => view.destroy();
  }, []);

  useSignalEffect(() => {
    const [view, next, to, key] = [editor.current, text.value, format.value, openedTab.value];
    if (!view) return;
    if (key !== tab.current) {
      states.current.set(tab.current, view.state);
      const kept = states.current.get(key);
      const state = kept?.doc.toString() === next ? kept : makeState.current?.(next);
      tab.current = key;
      shown.current = to;
      if (state) view.setState(state);
      view.dispatch({ effects: parts.current.language.reconfigure(language(to)) });
      return;
    }
    const old = view.state.doc.toString();
    const from = shown.current;
    if (old === next && from === to) return;
    view.dispatch({
      changes: difference(old, next),
      effects: from === to ? [] : [formatChange.of({ from, to })],
      // Each action is undone by itself, except the first, which fills the editor.
      annotations: [isolateHistory.of("full"), Transaction.addToHistory.of(old !== "" || opened.peek() > 1)],
    });
  });

  useSignalEffect(() => {
    editor.current?.dispatch({ effects: parts.current.language.reconfigure(language(format.value)) });
  });

  useSignalEffect(() => {
    // The check depends on these, too. A new linter checks without delay.
    void [schema.value, recordId.value, format.value, params.value, lapsed.value];
    editor.current?.dispatch({ effects: parts.current.lint.reconfigure(linter(faults, { delay: CHECK_DELAY_MS })) });
  });

  return <div class="query-editor" ref={host} />;
}
