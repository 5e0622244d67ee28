// Configuration that all editors share.

import { json } from "@codemirror/lang-json";
import { bracketMatching, codeFolding, foldGutter, indentUnit, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import type { Extension } from "@codemirror/state";
import { EditorView, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { hanging } from "./hang";
import "./mount";
import type { Format } from "../query/tree";

/** The brace format: an entity or relation before a brace, else a field. */
const ql = StreamLanguage.define<null>({
  startState: () => null,
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^[A-Za-z_]\w*(?=\s*\{)/)) return "keyword";
    if (stream.match(/^[A-Za-z_]\w*/)) return "propertyName";
    return stream.next() === "{" || stream.current() === "}" ? "brace" : "invalid";
  },
  languageData: { closeBrackets: { brackets: ["{"] } },
});

const marker = (open: boolean): HTMLElement => {
  const mark = document.createElement("span");
  mark.textContent = open ? "▾" : "▸";
  mark.setAttribute("aria-hidden", "true");
  return mark;
};

export function language(format: Format): Extension {
  return format === "json" ? json() : ql;
}

export const common: Extension = [
  lineNumbers(),
  foldGutter({ markerDOM: marker }),
  codeFolding({ placeholderText: "…" }),
  syntaxHighlighting(classHighlighter),
  bracketMatching(),
  highlightSelectionMatches(),
  search({ top: true }),
  indentUnit.of("  "),
  keymap.of(searchKeymap),
  EditorView.lineWrapping,
  hanging,
];
