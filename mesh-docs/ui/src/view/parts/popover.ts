// A part that a button opens beside it. A click elsewhere and Escape close it.

import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Popover {
  isOpen: boolean;
  host: RefObject<HTMLSpanElement | null>;
  toggle: () => void;
  /** Closes the part and focuses its button. */
  leave: () => void;
  keys: (event: KeyboardEvent) => void;
}

/** Focuses the first input of the part when it opens. */
export function usePopover(): Popover {
  const [isOpen, setOpen] = useState(false);
  const host = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    host.current?.querySelector("input")?.focus();
    const outside = (event: Event): void => {
      if (!host.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [isOpen]);
  const leave = (): void => {
    setOpen(false);
    host.current?.querySelector("button")?.focus();
  };
  const keys = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !isOpen) return;
    event.preventDefault();
    event.stopPropagation();
    leave();
  };
  return { isOpen, host, toggle: () => setOpen(!isOpen), leave, keys };
}
