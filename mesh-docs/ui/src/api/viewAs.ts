// The session that an administrator views the data as. The server decides who may, and as which roles. `SPEC §13.3`

import { signal } from "@preact/signals";

export interface ViewAs {
  role: string;
  user?: string;
  tenant?: string;
  claims?: Record<string, unknown>;
}

/** `null` if the caller views the data as itself. */
export const viewAs = signal<ViewAs | null>(null);

/** Returns the header for the routes of the playground, in ASCII. */
export function viewHeader(): Record<string, string> {
  if (!viewAs.value) return {};
  const escape = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return { "X-Mesh-View-As": JSON.stringify(viewAs.value).replace(/[\u007f-\uffff]/g, escape) };
}
