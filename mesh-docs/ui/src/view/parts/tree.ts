// Keys of a tree view with one tab stop: arrow keys move, the tree has the focus, and one item is active.

import { signal } from "@preact/signals";

/** The id of the active item. */
export const activeItem = signal("");

function itemsOf(tree: HTMLElement): HTMLElement[] {
  return [...tree.querySelectorAll<HTMLElement>('[role="treeitem"]')];
}

/** Makes the item around an element the active one. */
export function activate(element: Element | null): void {
  const item = element?.closest<HTMLElement>('[role="treeitem"]');
  if (item) activeItem.value = item.id;
}

/** Returns the item that contains the group of an item. */
function parentOf(item: HTMLElement): HTMLElement | null {
  const around = item.parentElement?.parentElement?.closest("li");
  return around?.querySelector<HTMLElement>('[role="treeitem"]') ?? null;
}

/** Makes the first item active, if the active one is not shown. */
export function activateFirst(tree: HTMLElement): void {
  const items = itemsOf(tree);
  if (!items.some(({ id }) => id === activeItem.value)) activeItem.value = items[0]?.id ?? "";
}

function fold(item: HTMLElement): void {
  item.querySelector<HTMLElement>("[data-fold]")?.click();
}

/** Handles a key that was pressed in a tree. */
export function treeKeys(event: KeyboardEvent): void {
  const tree = event.currentTarget as HTMLElement;
  const items = itemsOf(tree);
  const at = items.findIndex(({ id }) => id === activeItem.value);
  const item = items[Math.max(at, 0)];
  if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
  const go = (next: HTMLElement | null | undefined): void => {
    if (!next) return;
    activeItem.value = next.id;
    next.scrollIntoView({ block: "nearest" });
  };
  const expanded = item.getAttribute("aria-expanded");
  if (event.key === "ArrowDown") go(items[at + 1]);
  else if (event.key === "ArrowUp") go(items[at - 1]);
  else if (event.key === "Home") go(items[0]);
  else if (event.key === "End") go(items.at(-1));
  else if (event.key === "ArrowRight" && expanded === "false") fold(item);
  else if (event.key === "ArrowRight" && expanded === "true") go(items[at + 1]);
  else if (event.key === "ArrowLeft" && expanded === "true") fold(item);
  else if (event.key === "ArrowLeft") go(parentOf(item));
  else if (event.key === " " || event.key === "Enter") item.querySelector<HTMLElement>("[data-main]")?.click();
  else if (/^\S$/.test(event.key)) {
    const begins = ({ dataset }: HTMLElement): boolean => dataset["name"]?.toLowerCase().startsWith(event.key.toLowerCase()) ?? false;
    go([...items.slice(at + 1), ...items.slice(0, at + 1)].find(begins));
  } else return;
  event.preventDefault();
}
