// Short messages: shown for a few seconds, or only spoken by screen readers.

import { signal } from "@preact/signals";

export const notice = signal<{ text: string; bad: boolean } | null>(null);
/** The outcome of the last action for screen readers, which do not see the result. */
export const announcement = signal("");

let timer = 0;

export function notify(text: string, bad = false): void {
  notice.value = { text, bad };
  window.clearTimeout(timer);
  timer = window.setTimeout(() => (notice.value = null), bad ? 6000 : 3000);
}

export function announce(text: string): void {
  // An equal text would not be spoken again.
  announcement.value = announcement.value === text ? `${text}\u00a0` : text;
}
