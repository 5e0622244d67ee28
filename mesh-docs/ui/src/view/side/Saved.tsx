// The saved queries and the history.

import { readQuery } from "../../query/read";
import { open } from "../../state";
import { clearHistory, history, named, removeNamed, type Kept } from "../../storage";
import { IconButton } from "../parts/controls";
import { Close } from "../parts/icons";

function summary(kept: Kept): { entity: string; rest: string } {
  const tree = readQuery(kept.format, kept.query);
  if (!tree) return { entity: "?", rest: kept.query.slice(0, 60) };
  const names = tree.root.select.map(({ name, node }) => (node ? `${name} {…}` : name));
  const controls = Object.keys(tree.root.controls);
  return { entity: tree.entity + (kept.id === "" ? "" : ` / ${kept.id}`), rest: [...names, ...controls].join(" ") };
}

function Item({ kept, remove }: { kept: Kept; remove?: () => void }) {
  const { entity, rest } = summary(kept);
  return (
    <li class="item row">
      <button type="button" class="saved-open flat grow" onClick={() => open(kept)}>
        <span class="strong">{kept.name ?? entity}</span>
        <span class="saved-rest ellipsis faint">{kept.name === undefined ? rest : `${entity} ${rest}`}</span>
      </button>
      {remove && (
        <IconButton label={`Remove ${kept.name ?? entity}`} act={remove}>
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
        {named.value.map((kept) => (
          <Item key={kept.name} kept={kept} remove={() => removeNamed(kept.name ?? "")} />
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
        {history.value.map((kept) => (
          <Item key={kept.format + kept.id + kept.query} kept={kept} />
        ))}
      </ul>
    </div>
  );
}
