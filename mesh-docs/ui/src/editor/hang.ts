// Hanging indentation of wrapped lines: they continue below the beginning of their text.

import { RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";

/** Indentations in characters; deeper lines are treated like the last. */
const INDENTS = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24];

// Classes, because the Content-Security-Policy forbids inline styles.
const MARKS = INDENTS.map((indent) => Decoration.line({ class: `hang-${indent}` }));
const styles = EditorView.theme(
  Object.fromEntries(INDENTS.map((indent) => [`.hang-${indent}`, { paddingLeft: `calc(6px + ${indent + 2}ch)`, textIndent: `-${indent + 2}ch` }])),
);

function decorate(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of view.visibleRanges) {
    for (let position = from; position <= to; ) {
      const line = view.state.doc.lineAt(position);
      const indent = line.text.search(/[^ ]|$/);
      const mark = MARKS[Math.min(Math.floor(indent / 2), MARKS.length) - 1];
      if (mark) builder.add(line.from, line.from, mark);
      position = line.to + 1;
    }
  }
  return builder.finish();
}

const marks = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = decorate(view);
    }

    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged) this.decorations = decorate(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

export const hanging = [styles, marks];
