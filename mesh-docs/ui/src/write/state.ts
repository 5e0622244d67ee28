// What begins and follows a write in the data browser.

import { signal } from "@preact/signals";
import { closeRecord, editing, load, openRecord, record } from "../browse/state";
import { notify } from "../notice";

/** How many writes there were. Records that are shown are read again after each. */
export const writes = signal(0);

/** Shows a record in the panel and edits it. */
export function editRecord(entity: string, id: string, field = ""): void {
  if (record.value?.entity !== entity || record.value.id !== id) openRecord({ entity, id });
  editing.value = field;
}

/** Says what was written, and reads what is shown again. */
export function written(text: string): void {
  writes.value += 1;
  notify(text);
  void load();
}

/** Closes the panel of a record that no longer exists. */
export function deleted(text: string): void {
  closeRecord();
  written(text);
}
