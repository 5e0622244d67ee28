// The list of keyboard shortcuts.

import { keyName } from "../../keys";
import { Dialog } from "./Dialog";

const KEYS: [string, string][] = [
  ["Ctrl Enter", "Run the query"],
  ["Escape", "Cancel the running query"],
  ["Ctrl K", "All commands"],
  ["Ctrl Space", "Complete at the cursor"],
  ["Ctrl S", "Save the query under a name"],
  ["Shift Alt F", "Format the query"],
  ["Alt 1, 2, 3", "Go to schema, query, result"],
  ["F8", "Next error in the query"],
  ["Ctrl F", "Search in query or result"],
  ["Escape, then Tab", "Leave the editor"],
  ["Arrow keys", "Move in the schema, tables and menus"],
  ["Space", "Select a field of the schema"],
];

export function KeysDialog() {
  return (
    <Dialog title="Keys">
      <dl class="keys">
        {KEYS.map(([keys, what]) => (
          <div key={keys} class="row spread">
            <dt>
              <kbd>{keyName(keys)}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
