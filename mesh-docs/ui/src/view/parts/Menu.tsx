// A menu button with arrow-key navigation.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

interface Props {
  label: string;
  face: ComponentChildren;
  testId?: string;
  items: { label: string; note?: string; act: () => void }[];
}

export function Menu({ label, face, items, testId }: Props) {
  const [open, setOpen] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  const entries = (): HTMLElement[] => [...(host.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
  const focus = (index: number): void => {
    const all = entries();
    all[(index + all.length) % all.length]?.focus();
  };
  useEffect(() => {
    if (!open) return;
    focus(0);
    const outside = (event: Event): void => {
      if (!host.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [open]);
  const leave = (): void => {
    setOpen(false);
    host.current?.querySelector<HTMLElement>("button")?.focus();
  };
  const keys = (event: KeyboardEvent): void => {
    const at = entries().indexOf(document.activeElement as HTMLElement);
    if (event.key === "Escape") leave();
    else if (event.key === "Tab") setOpen(false);
    else if (event.key === "ArrowDown") focus(at + 1);
    else if (event.key === "ArrowUp") focus(at - 1);
    else if (event.key === "Home") focus(0);
    else if (event.key === "End") focus(-1);
    else return;
    if (event.key !== "Tab") event.preventDefault();
  };
  return (
    <div class="menu" ref={host} onKeyDown={open ? keys : undefined}>
      <button type="button" class="quiet" aria-haspopup="menu" aria-expanded={open} aria-label={label} title={label} data-testid={testId} onClick={() => setOpen(!open)}>
        {face}
      </button>
      {open && (
        <div class="menu-list column" role="menu" aria-label={label}>
          {items.map((item) => (
            <button key={item.label} type="button" class="flat spread" role="menuitem" tabIndex={-1} onClick={() => (leave(), item.act())}>
              {item.label}
              {item.note && <span class="count">{item.note}</span>}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
