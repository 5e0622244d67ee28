// A menu at a position in the window.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

export interface MenuItem {
  label: string;
  act: () => void;
}
export interface MenuAt {
  label: string;
  x: number;
  y: number;
  items: MenuItem[];
}

/** The least distance to the edges of the window. */
const MARGIN = 6;

export function ContextMenu({ label, x, y, items, close }: MenuAt & { close: () => void }) {
  const host = useRef<HTMLDivElement>(null);
  const before = useRef<Element | null>(null);
  const entries = (): HTMLElement[] => [...(host.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
  const focus = (index: number): void => {
    const all = entries();
    all[(index + all.length) % all.length]?.focus();
  };
  useLayoutEffect(() => {
    const menu = host.current;
    if (!menu) return;
    menu.style.left = `${Math.max(MARGIN, Math.min(x, window.innerWidth - menu.offsetWidth - MARGIN))}px`;
    menu.style.top = `${Math.max(MARGIN, Math.min(y, window.innerHeight - menu.offsetHeight - MARGIN))}px`;
  }, [x, y]);
  useEffect(() => {
    before.current = document.activeElement;
    focus(0);
    const outside = (event: Event): void => {
      if (!host.current?.contains(event.target as Node)) close();
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, []);
  const leave = (): void => {
    close();
    if (before.current instanceof HTMLElement) before.current.focus();
  };
  const keys = (event: KeyboardEvent): void => {
    const at = entries().indexOf(document.activeElement as HTMLElement);
    if (event.key === "Escape" || event.key === "Tab") leave();
    else if (event.key === "ArrowDown") focus(at + 1);
    else if (event.key === "ArrowUp") focus(at - 1);
    else if (event.key === "Home") focus(0);
    else if (event.key === "End") focus(-1);
    else return;
    event.preventDefault();
  };
  return (
    <div ref={host} class="menu-list context-menu column" role="menu" aria-label={label} onKeyDown={keys}>
      {items.map((item) => (
        <button key={item.label} type="button" class="flat" role="menuitem" tabIndex={-1} onClick={() => (leave(), item.act())}>
          {item.label}
        </button>
      ))}
    </div>
  );
}
