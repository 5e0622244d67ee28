// Focus of the three panes.

import { mode, pane, type Pane } from "../../state";

/** Shows a pane and moves the focus into it. */
export function focusPane(next: Pane): void {
  mode.value = "query";
  pane.value = next;
  const target = { schema: "#schema-search", query: ".query-editor .cm-content", result: ".result [tabindex='0'], .result button" }[next];
  requestAnimationFrame(() => document.querySelector<HTMLElement>(target)?.focus());
}
