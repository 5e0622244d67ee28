// Copying to the clipboard.

import { current, notify } from "../../state";
import { shareLink } from "../../storage";

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(`${what} copied`);
  } catch {
    notify(`The browser does not allow copying. Select the ${what.toLowerCase()} and copy it by hand.`, true);
  }
}

/** Copies a link to the query in the editor. */
export function copyLink(): void {
  void copyText(shareLink(current()), "Link");
}
