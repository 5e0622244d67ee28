// The saved queries and the history.

import { readQuery } from "../../query/read";
import { open } from "../../state";
import { clearHistory, history, named, removeNamed, type SavedQuery } from "../../storage";
import { IconButton } from "../parts/controls";
import { Close } from "../parts/icons";

function summary(saved: SavedQuery): { entity: string; rest: string } {
  const tree = readQuery(saved.format, saved.query);
  if (!tree) return { entity: "?", rest: saved.query.slice(0, 60) };
  const names = tree.root.select.map(({ name, node }) => (node ? `${name} {…}` : name));
  const controls = Object.keys(tree.root.controls);
  return { entity: tree.entity + (saved.id === "" ? "" : ` / ${saved.id}`), rest: [...names, ...controls].join(" ") };
}

function Item({ saved, remove }: { saved: SavedQuery; remove?: () => void }) {
  const { entity, rest } = summary(saved);
  return (
    <li class="item row">
      <button type="button" class="saved-open flat grow" onClick={() => open(saved)}>
        <span class="strong">{saved.name ?? entity}</span>
        <span class="saved-rest ellipsis faint">{saved.name === undefined ? rest : `${entity} ${rest}`}</span>
      </button>
      {remove && (
        <IconButton label={`Remove ${saved.name ?? entity}`} act={remove}>
          <Close />
        </IconButton>
      )}
    </li>
  );
}

export function Saved() {
  return (
    <div class="saved">
      <h2 class="section row spread soft strong">Named</h2>
      {named.value.length === 0 && <p class="hint">None yet. Ctrl+S saves a query under a name.</p>}
      <ul>
        {named.value.map((saved) => (
          <Item key={saved.name} saved={saved} remove={() => removeNamed(saved.name ?? "")} />
        ))}
      </ul>
      <h2 class="section row spread soft strong">
        History
        {history.value.length > 0 && (
          <button type="button" class="quiet small" onClick={clearHistory}>
            Clear
          </button>
        )}
      </h2>
      {history.value.length === 0 && <p class="hint">Queries that you run are listed here, in this browser only.</p>}
      <ul>
        {history.value.map((saved) => (
          <Item key={saved.format + saved.id + saved.query + (saved.params ?? "")} saved={saved} />
        ))}
      </ul>
    </div>
  );
}
