// Copying to the clipboard.

import { notify } from "../../notice";
import { current } from "../../state";
import { shareLink } from "../../storage";

/** Copies a text. The note says what the reader has to know about it. */
export async function copyText(text: string, what: string, note = ""): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notify(`${what} copied${note}`, note !== "");
  } catch {
    notify(`The browser does not allow copying. Select the ${what.toLowerCase()} and copy it by hand.`, true);
  }
}

/** Copies a link to the query in the editor. */
export function copyLink(): void {
  void copyText(shareLink(current()), "Link");
}
