// The command palette.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { logout, session } from "../../api/session";
import { config } from "../../config";
import { dialog, format, formatText, nextPage, open, outcome, resultTab, run, schema, setFormat, sideTab, startQuery, text, recordId, pane } from "../../state";
import { named, setTheme, shareLink, theme } from "../../storage";
import { focusPane } from "../parts/focus";
import { copyText } from "../parts/copy";
import { Dialog } from "./Dialog";

interface Act {
  name: string;
  group: string;
  keys?: string;
  run: () => void;
}

function acts(): Act[] {
  const isAnswer = outcome.value?.kind === "answer";
  const other = format.value === "json" ? "ql" : "json";
  const list: (Act | false)[] = [
    { name: "Run the query", group: "Query", keys: "Ctrl Enter", run: () => void run() },
    { name: "Format the query", group: "Query", keys: "Shift Alt F", run: formatText },
    { name: `Write the query in ${other === "ql" ? "QL" : "JSON"}`, group: "Query", run: () => setFormat(other) },
    { name: "Copy a link to the query", group: "Query", run: () => void copyText(shareLink(text.value, format.value, recordId.value), "Link") },
    { name: "Save the query under a name", group: "Query", keys: "Ctrl S", run: () => (dialog.value = "save") },
    config.persisted && { name: "Register as persisted query", group: "Query", run: () => (dialog.value = "register") },
    isAnswer && { name: "Next page", group: "Result", run: () => void nextPage() },
    isAnswer && { name: "Show the result as JSON", group: "Result", run: () => (resultTab.value = "json") },
    isAnswer && { name: "Show the result as a table", group: "Result", run: () => (resultTab.value = "table") },
    isAnswer && { name: "Show the plan", group: "Result", run: () => (resultTab.value = "plan") },
    isAnswer && config.sql && { name: "Show the SQL", group: "Result", run: () => (resultTab.value = "sql") },
    { name: "Go to the schema", group: "Page", keys: "Alt 1", run: () => ((sideTab.value = "schema"), focusPane("schema")) },
    { name: "Go to the query", group: "Page", keys: "Alt 2", run: () => focusPane("query") },
    { name: "Go to the result", group: "Page", keys: "Alt 3", run: () => focusPane("result") },
    { name: "Show history and saved queries", group: "Page", run: () => ((sideTab.value = "saved"), (pane.value = "schema")) },
    { name: `Switch to the ${theme.value === "dark" ? "light" : "dark"} theme`, group: "Page", run: () => setTheme(theme.value === "dark" ? "light" : "dark") },
    { name: "Show the keys", group: "Page", run: () => (dialog.value = "keys") },
    config.integrity && !session.value && { name: "Log in", group: "Page", run: () => (dialog.value = "login") },
    config.integrity && session.value !== null && { name: "Log out", group: "Page", run: () => void logout() },
    ...(schema.value?.entities ?? []).map((one) => ({ name: `Query ${one.name}`, group: "Entities", run: () => startQuery(one.name) })),
    ...named.value.map((one) => ({ name: `Open ${one.name ?? ""}`, group: "Saved", run: () => open(one) })),
  ];
  return list.filter((one): one is Act => one !== false);
}

/** What has every typed word in its name; where words begin as they were typed comes first. */
function matching(all: Act[], typed: string): Act[] {
  const words = typed.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const text = (one: Act): string => ` ${one.group} ${one.name}`.toLowerCase();
  const loose = (one: Act): number => words.filter((word) => !text(one).includes(` ${word}`)).length;
  const found = all.filter((one) => words.every((word) => text(one).includes(word)));
  return found.sort((one, other) => loose(one) - loose(other));
}

export function Palette() {
  const all = useMemo(acts, []);
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const found = matching(all, typed);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen, typed]);
  const take = (act: Act | undefined): void => {
    if (!act) return;
    dialog.value = null;
    // After the dialog has given the focus back, which the act may want elsewhere.
    requestAnimationFrame(() => act.run());
  };
  const keys = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      setAt((chosen + step + found.length) % found.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      take(found[chosen]);
    }
  };
  return (
    <Dialog title="Commands" kind="palette">
      <input
        class="palette-input"
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls="palette-list"
        aria-activedescendant={found.length > 0 ? `act-${chosen}` : undefined}
        data-focus
        placeholder="Type a part of a command, an entity or a saved query"
        value={typed}
        onInput={(event) => (setTyped(event.currentTarget.value), setAt(0))}
        onKeyDown={keys}
      />
      <ul class="palette-list" id="palette-list" role="listbox" aria-label="Commands" ref={list}>
        {found.map((act, index) => (
          <li key={act.group + act.name} id={`act-${index}`} role="option" aria-selected={index === chosen} onClick={() => take(act)} onMouseMove={() => setAt(index)}>
            <span class="palette-group">{act.group}</span>
            <span>{act.name}</span>
            {act.keys && <kbd>{act.keys}</kbd>}
          </li>
        ))}
        {found.length === 0 && <li class="none" role="option" aria-selected="false" aria-disabled="true">No matches</li>}
      </ul>
    </Dialog>
  );
}
