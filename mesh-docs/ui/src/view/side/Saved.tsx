// The saved queries and the history.

import { readQuery } from "../../query/read";
import { keyName } from "../../keys";
import { fits } from "../../query/fits";
import { open, schema } from "../../state";
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
  const known = schema.value;
  if (!known) return <p class="hint pad">Saved queries are listed when the schema is loaded.</p>;
  // Servers of other databases may have been at this address.
  const belongs = (saved: SavedQuery): boolean => fits(known, saved);
  const [names, runs] = [named.value.filter(belongs), history.value.filter(belongs)];
  return (
    <div class="saved">
      <h2 class="section row spread soft strong">Named</h2>
      {names.length === 0 && <p class="hint">None yet. {keyName("Ctrl S")} saves a query under a name.</p>}
      <ul>
        {names.map((saved) => (
          <Item key={saved.name} saved={saved} remove={() => removeNamed(saved)} />
        ))}
      </ul>
      <h2 class="section row spread soft strong">
        History
        {runs.length > 0 && (
          <button type="button" class="quiet small" onClick={() => clearHistory(runs)}>
            Clear
          </button>
        )}
      </h2>
      {runs.length === 0 && <p class="hint">Queries that you run are listed here, in this browser only.</p>}
      <ul>
        {runs.map((saved) => (
          <Item key={saved.format + saved.id + saved.query + (saved.params ?? "")} saved={saved} />
        ))}
      </ul>
    </div>
  );
}
