// Copying of text to the clipboard.

import { say } from "../../state";

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
  } catch {
    say(`The browser did not allow copying; ${what.toLowerCase()} stays where it is`, true);
  }
}
