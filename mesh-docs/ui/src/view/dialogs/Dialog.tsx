// A modal dialog, which Escape closes and which restores the focus.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { dialog } from "../../state";
import { Close } from "../parts/icons";

export function Dialog({ title, kind, children }: { title: string; kind?: string; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    element.current?.querySelector<HTMLElement>("[data-focus]")?.focus();
    return () => {
      if (before instanceof HTMLElement && before !== document.body) before.focus();
    };
  }, []);
  const close = (): void => {
    dialog.value = null;
  };
  return (
    <dialog
      ref={element}
      class={`dialog ${kind ?? ""}`}
      aria-label={title}
      onClose={close}
      onCancel={close}
      onMouseDown={(event) => event.target === element.current && close()}
    >
      <div class="dialog-body">
        <header class="dialog-head">
          <h2>{title}</h2>
          <button type="button" class="quiet square" aria-label="Close" onClick={close}>
            <Close />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}
