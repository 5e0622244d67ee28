// Focus of the three panes.

import { useLayoutEffect, useRef } from "preact/hooks";
import { mode, pane, type Pane } from "../../state";

/** Shows a pane and moves the focus into it. */
export function focusPane(next: Pane): void {
  mode.value = "query";
  pane.value = next;
  const target = { schema: "#schema-search", query: ".query-editor .cm-content", result: ".result [tabindex='0'], .result button" }[next];
  requestAnimationFrame(() => document.querySelector<HTMLElement>(target)?.focus());
}

/** Focuses an element after the next rendering, unless another one has the focus then. What had it may be gone. */
export function refocus(find: () => HTMLElement | null | undefined): void {
  requestAnimationFrame(() => {
    if (document.activeElement === null || document.activeElement === document.body) find()?.focus();
  });
}

/** Returns a function that focuses what had the focus before the component was shown. */
export function useFocusBefore(): () => void {
  const before = useRef<Element | null>(null);
  useLayoutEffect(() => {
    before.current = document.activeElement;
  }, []);
  return () => refocus(() => (before.current instanceof HTMLElement ? before.current : null));
}
