// The keyboard shortcuts of the page, and their names on this system.

export const isMac = /Mac|iP(hone|ad|od)/.test(navigator.platform);

/** Returns the name of a shortcut, which is written as on other systems: `Ctrl Enter`. */
export function keyName(keys: string): string {
  return isMac ? keys.replace("Ctrl", "⌘").replace("Alt", "⌥").replace("Shift", "⇧") : keys;
}

/** Whether an event is that of a shortcut with the Alt key. macOS types another character, so the key itself counts. */
export function isAlt(event: KeyboardEvent, code: string, shift = false): boolean {
  return event.altKey && !event.ctrlKey && !event.metaKey && event.shiftKey === shift && event.code === code;
}
