// The saved queries, in folders, and the history.

import { useRef } from "preact/hooks";
import { count, milliseconds } from "../../format";
import { keyName } from "../../keys";
import { notify } from "../../notice";
import { exportQueries, importQueries } from "../../queryFile";
import { fits } from "../../query/fits";
import { readQuery } from "../../query/read";
import { saveFile } from "../parts/file";
import { open, schema } from "../../state";
import { clearHistory, history, named, removeNamed, type SavedQuery } from "../../storage";
import { newTab } from "../../tabs";
import { IconButton } from "../parts/controls";
import { Close, Plus } from "../parts/icons";

function summary(saved: SavedQuery): { entity: string; rest: string } {
  const tree = readQuery(saved.format, saved.query);
  if (!tree) return { entity: "?", rest: saved.query.slice(0, 60) };
  const names = tree.root.select.map(({ name, node }) => (node ? `${name} {…}` : name));
  const controls = Object.keys(tree.root.controls);
  return { entity: tree.entity + (saved.id === "" ? "" : ` / ${saved.id}`), rest: [...names, ...controls].join(" ") };
}

/** Returns the part of a name after its folder. */
function baseName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1).trim();
}

/** Returns the folder of a named query, which is the part of its name before the last slash; empty without one. */
function folderOf({ name = "" }: SavedQuery): string {
  return name.slice(0, Math.max(0, name.lastIndexOf("/"))).trim();
}

function Item({ saved, remove }: { saved: SavedQuery; remove?: () => void }) {
  const { entity, rest } = summary(saved);
  const name = saved.name === undefined ? entity : baseName(saved.name);
  return (
    <li class="item row">
      <button type="button" class="saved-open flat grow" onClick={() => open(saved)}>
        <span class="strong">{name}</span>
        <span class="saved-rest ellipsis faint">{saved.name === undefined ? rest : `${entity} ${rest}`}</span>
        {saved.name === undefined && <RunNote saved={saved} />}
      </button>
      <IconButton label={`Open ${name} in a new tab`} title="Open in a new tab" act={() => newTab(saved)}>
        <Plus />
      </IconButton>
      {remove && (
        <IconButton label={`Remove ${name}`} act={remove}>
          <Close />
        </IconButton>
      )}
    </li>
  );
}

/** When a query ran, and what the run returned. */
function RunNote({ saved: { at, result } }: { saved: SavedQuery }) {
  const time = new Date(at);
  const isToday = time.toDateString() === new Date().toDateString();
  const facts = [isToday ? time.toLocaleTimeString() : time.toLocaleString()];
  if (result) facts.push(milliseconds(result.ms), ...(result.status === 200 ? [count(result.rows, "object")] : []));
  return (
    <span class="run-note soft">
      {result && <span class={result.status === 200 ? "act" : "bad"}>{result.status === 0 ? "no reply" : result.status} </span>}
      {facts.join(", ")}
    </span>
  );
}

function Folder({ name, list }: { name: string; list: SavedQuery[] }) {
  const items = (
    <ul>
      {list.map((saved) => (
        <Item key={saved.name} saved={saved} remove={() => removeNamed(saved)} />
      ))}
    </ul>
  );
  if (name === "") return items;
  return (
    <details class="folder" open>
      <summary class="strong">
        {name} <span class="count">{list.length}</span>
      </summary>
      {items}
    </details>
  );
}

export function Saved() {
  const known = schema.value;
  if (!known) return <p class="hint pad">Saved queries are listed when the schema is loaded.</p>;
  // Servers of other databases may have been at this address.
  const belongs = (saved: SavedQuery): boolean => fits(known, saved);
  const [names, runs] = [named.value.filter(belongs), history.value.filter(belongs)];
  const folders = [...new Set(names.map(folderOf))];
  return (
    <div class="saved">
      <h2 class="section row spread soft strong">
        Named
        <Files list={names} />
      </h2>
      {names.length === 0 && <p class="hint">None yet. {keyName("Ctrl S")} saves a query under a name. A name such as “reports/month” puts it into a folder.</p>}
      {folders.map((name) => (
        <Folder key={name} name={name} list={names.filter((saved) => folderOf(saved) === name)} />
      ))}
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

/** The import and the export of named queries. */
function Files({ list }: { list: SavedQuery[] }) {
  const input = useRef<HTMLInputElement>(null);
  const read = async (file: File | undefined): Promise<void> => {
    const known = schema.value;
    if (!file || !known) return;
    try {
      notify(importQueries(known, await file.text()));
    } catch {
      notify(`${file.name} has no saved queries. Choose a file that “Export” has made.`, true);
    }
  };
  return (
    <span class="row">
      <button type="button" class="quiet small" onClick={() => input.current?.click()}>
        Import
      </button>
      <input
        ref={input}
        type="file"
        accept="application/json,.json"
        aria-label="A file with queries"
        tabIndex={-1}
        class="hidden"
        data-testid="import"
        onChange={({ currentTarget }) => void read(currentTarget.files?.[0]).then(() => (currentTarget.value = ""))}
      />
      {list.length > 0 && (
        <button type="button" class="quiet small" data-testid="export" onClick={() => saveFile(new Blob([exportQueries(list)]), "queries.json", "application/json")}>
          Export
        </button>
      )}
    </span>
  );
}
