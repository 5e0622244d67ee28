// Modal dialogs, which Escape closes and which restore the focus, and the form in them.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { dialog } from "../../state";
import { IconButton } from "../parts/controls";
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
        <header class="dialog-head row spread">
          <h2>{title}</h2>
          <IconButton label="Close" act={close}>
            <Close />
          </IconButton>
        </header>
        {children}
      </div>
    </dialog>
  );
}

interface FormProps {
  action: string;
  disabled?: boolean;
  submit: () => void;
  children: ComponentChildren;
}

/** A form with one button. */
export function DialogForm({ action, disabled, submit, children }: FormProps) {
  const onSubmit = (event: Event): void => {
    event.preventDefault();
    submit();
  };
  return (
    <form class="form" onSubmit={onSubmit}>
      {children}
      <button type="submit" class="primary form-end" disabled={disabled}>
        {action}
      </button>
    </form>
  );
}
