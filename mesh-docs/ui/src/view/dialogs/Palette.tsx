// The command palette.

import { batch } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { hasCredentials, logout, session } from "../../api/session";
import { viewAs } from "../../api/viewAs";
import { config } from "../../config";
import { browse } from "../../browse/state";
import { keyName } from "../../keys";
import { fits } from "../../query/fits";
import { nextPage, outcome, resultTab, run } from "../../run";
import { loadSchema } from "../../start";
import { dialog, format, formatText, mode, open, pane, schema, setFormat, sideTab, startQuery } from "../../state";
import { named, setTheme, theme } from "../../storage";
import { runnable, runTabs } from "../../tabs";
import { focusPane } from "../parts/focus";
import { copyLink } from "../parts/copy";
import { Dialog } from "./Dialog";

interface Command {
  name: string;
  group: string;
  keys?: string;
  run: () => void;
}

function commands(): Command[] {
  const known = schema.value;
  const isAnswer = outcome.value?.kind === "answer";
  const otherFormat = format.value === "json" ? "ql" : "json";
  const otherTheme = theme.value === "dark" ? "light" : "dark";
  const list: (Command | false)[] = [
    { name: "Run the query", group: "Query", keys: "Ctrl Enter", run: () => void run() },
    runnable.value > 0 && { name: `Run ${runnable.value} tabs as one`, group: "Query", run: () => void runTabs() },
    { name: "Format the query", group: "Query", keys: "Shift Alt F", run: formatText },
    { name: `Write the query in ${otherFormat.toUpperCase()}`, group: "Query", run: () => setFormat(otherFormat) },
    { name: "Copy a link to the query", group: "Query", run: copyLink },
    { name: "Save the query under a name", group: "Query", keys: "Ctrl S", run: () => (dialog.value = "save") },
    config.persisted && !viewAs.value && { name: "Register as persisted query", group: "Query", run: () => (dialog.value = "register") },
    isAnswer && { name: "Next page", group: "Result", run: () => void nextPage() },
    isAnswer && { name: "Show the result as JSON", group: "Result", run: () => (resultTab.value = "json") },
    isAnswer && { name: "Show the result as a table", group: "Result", run: () => (resultTab.value = "table") },
    isAnswer && { name: "Show the plan", group: "Result", run: () => (resultTab.value = "plan") },
    isAnswer && config.sql && { name: "Show the SQL", group: "Result", run: () => (resultTab.value = "sql") },
    { name: "Go to the schema", group: "Page", keys: "Alt 1", run: () => ((sideTab.value = "schema"), focusPane("schema")) },
    { name: "Go to the query", group: "Page", keys: "Alt 2", run: () => focusPane("query") },
    { name: "Go to the result", group: "Page", keys: "Alt 3", run: () => focusPane("result") },
    { name: "Show history and saved queries", group: "Page", run: () => ((sideTab.value = "saved"), (pane.value = "schema")) },
    { name: `Switch to the ${otherTheme} theme`, group: "Page", run: () => setTheme(otherTheme) },
    { name: "Load the schema again", group: "Page", run: () => void loadSchema() },
    { name: "Show the diagram of the schema", group: "Page", run: () => (mode.value = "diagram") },
    { name: "Show the keys", group: "Page", run: () => (dialog.value = "keys") },
    known?.viewAs !== undefined && { name: "View as another role", group: "Page", run: () => (dialog.value = "viewAs") },
    viewAs.value !== null && { name: "Stop viewing as another role", group: "Page", run: () => (viewAs.value = null) },
    hasCredentials && !session.value && { name: "Log in", group: "Page", run: () => (dialog.value = "login") },
    config.integrity && session.value !== null && { name: "Log out", group: "Page", run: () => void logout() },
    ...(schema.value?.entities ?? []).map((one) => ({ name: `Query ${one.name}`, group: "Entities", run: () => batch(() => ((mode.value = "query"), startQuery(one.name))) })),
    ...(known?.entities ?? []).map((one) => ({ name: `Browse ${one.name}`, group: "Data", run: () => browse(one.name) })),
    ...named.value.filter((one) => known && fits(known, one)).map((one) => ({ name: `Open ${one.name ?? ""}`, group: "Saved", run: () => batch(() => ((mode.value = "query"), open(one))) })),
  ];
  return list.filter((command) => command !== false);
}

/** Returns the commands that contain every typed word, first those in which words begin with them. */
function matching(all: Command[], typed: string): Command[] {
  const words = typed.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const text = ({ group, name }: Command): string => ` ${group} ${name}`.toLowerCase();
  const rank = (command: Command): number => words.filter((word) => !text(command).includes(` ${word}`)).length;
  const found = all.filter((command) => words.every((word) => text(command).includes(word)));
  return found.sort((left, right) => rank(left) - rank(right));
}

export function Palette() {
  const all = useMemo(commands, []);
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const found = matching(all, typed);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen, typed]);
  const choose = (command: Command | undefined): void => {
    if (!command) return;
    dialog.value = null;
    // The closing dialog restores the focus, which the command may then move.
    requestAnimationFrame(() => command.run());
  };
  const keys = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined && found.length > 0) {
      event.preventDefault();
      setAt((chosen + step + found.length) % found.length);
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(found[chosen]);
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
        aria-activedescendant={found.length > 0 ? `command-${chosen}` : undefined}
        data-focus
        placeholder="Type a part of a command, an entity or a saved query"
        value={typed}
        onInput={(event) => (setTyped(event.currentTarget.value), setAt(0))}
        onKeyDown={keys}
      />
      <ul class="palette-list" id="palette-list" role="listbox" aria-label="Commands" ref={list}>
        {found.map((command, index) => (
          <li
            key={command.group + command.name}
            class="row"
            id={`command-${index}`}
            role="option"
            aria-selected={index === chosen}
            onClick={() => choose(command)}
            onMouseMove={() => setAt(index)}
          >
            <span class="palette-group faint">{command.group}</span>
            <span>{command.name}</span>
            {command.keys && <kbd>{keyName(command.keys)}</kbd>}
          </li>
        ))}
        {found.length === 0 && (
          <li class="row faint" role="option" aria-selected="false" aria-disabled="true">
            No matches
          </li>
        )}
      </ul>
    </Dialog>
  );
}
