// Hanging indentation of wrapped lines.

import { RangeSetBuilder } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";

/** The deepest indentation that the style sheet has a class for. */
const DEEPEST = 24;

const marks = new Map<number, Decoration>();

function mark(indent: number): Decoration {
  const found = marks.get(indent) ?? Decoration.line({ class: `hang-${indent}` });
  marks.set(indent, found);
  return found;
}

function decorate(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      const blanks = /^ */.exec(line.text)?.[0].length ?? 0;
      const indent = Math.min(DEEPEST, blanks - (blanks % 2));
      if (indent > 0) builder.add(line.from, line.from, mark(indent));
      at = line.to + 1;
    }
  }
  return builder.finish();
}

export const hanging = ViewPlugin.fromClass(
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
