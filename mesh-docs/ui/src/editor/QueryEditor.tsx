// The query editor, bound to the text of the page.

import { acceptCompletion, autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, foldKeymap, indentOnInput } from "@codemirror/language";
import { linter, lintKeymap, type Diagnostic } from "@codemirror/lint";
import { Compartment, EditorState } from "@codemirror/state";
import { drawSelection, EditorView, highlightActiveLine, keymap, placeholder } from "@codemirror/view";
import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { check } from "../api/client";
import { isMissingValue, locate } from "../query/locate";
import { format, formatText, isPoint, params, query, recordId, run, schema, setText, text } from "../state";
import { common, language } from "./base";
import { completer } from "./complete";

/** The pause in typing after which the text is checked. */
const CHECK_DELAY_MS = 250;

async function faults(view: EditorView): Promise<Diagnostic[]> {
  const source = view.state.doc.toString();
  if (source.trim() === "" || schema.value === null) return [];
  const request = { query: source, format: format.value, id: recordId.value, params: params.value };
  const fault = await check(request).catch(() => undefined);
  if (!fault) return [];
  const { from, to } = locate(request.format, source, fault);
  const until = Math.min(to, source.length);
  const better = /did you mean '([^']+)'\?/.exec(fault.message)?.[1];
  const actions = better === undefined ? [] : [{ name: `Use ${better}`, apply: (at: EditorView, a: number, b: number) => at.dispatch({ changes: { from: a, to: b, insert: better } }) }];
  // The query is valid without the values of its parameters.
  const severity = isMissingValue(fault) ? "warning" : "error";
  return [{ from: Math.min(from, until), to: until, severity, message: fault.message, actions }];
}

export function QueryEditor() {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView | null>(null);
  const parts = useRef({ language: new Compartment(), lint: new Compartment() });

  useEffect(() => {
    if (!host.current) return;
    const around = () => ({ schema: schema.value, format: format.value, query: query.value, isPoint: isPoint.value });
    const runKey = { key: "Mod-Enter", run: () => (void run(), true) };
    const formatKey = { key: "Shift-Alt-f", run: () => (formatText(), true) };
    const tabKey = { key: "Tab", run: acceptCompletion };
    const view = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: text.peek(),
        extensions: [
          keymap.of([runKey, formatKey, tabKey, ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...foldKeymap]),
          history(),
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
            if (update.docChanged) setText(update.state.doc.toString());
          }),
        ],
      }),
    });
    editor.current = view;
    return () => view.destroy();
  }, []);

  useSignalEffect(() => {
    const [view, next] = [editor.current, text.value];
    if (!view) return;
    const old = view.state.doc.toString();
    if (old === next) return;
    // Only the difference is replaced, to keep cursor, folds and undo elsewhere.
    let from = 0;
    while (from < old.length && from < next.length && old[from] === next[from]) from += 1;
    let [to, end] = [old.length, next.length];
    while (to > from && end > from && old[to - 1] === next[end - 1]) [to, end] = [to - 1, end - 1];
    view.dispatch({ changes: { from, to, insert: next.slice(from, end) } });
  });

  useSignalEffect(() => {
    editor.current?.dispatch({ effects: parts.current.language.reconfigure(language(format.value)) });
  });

  useSignalEffect(() => {
    // The check depends on these, too. A new linter checks without delay.
    void [schema.value, recordId.value, format.value, params.value];
    editor.current?.dispatch({ effects: parts.current.lint.reconfigure(linter(faults, { delay: CHECK_DELAY_MS })) });
  });

  return <div class="query-editor" ref={host} />;
}
