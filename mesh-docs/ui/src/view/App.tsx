// The layout of the page: header, schema, query and result; one of the three at a time on narrow screens.

import { useEffect } from "preact/hooks";
import { config } from "../config";
import { isAlt } from "../keys";
import { announcement, notice } from "../notice";
import { cancel, run } from "../run";
import { dialog, formatText, mode, pane, sideTab, type Pane } from "../state";
import { widths } from "../storage";
import { Browser } from "./browse/Browser";
import { Explorer } from "./side/Explorer";
import { focusPane } from "./parts/focus";
import { later } from "./parts/later";
import { Header } from "./Header";
import { KeysDialog } from "./dialogs/Keys";
import { LoginDialog } from "./dialogs/Login";
import { Palette } from "./dialogs/Palette";
import { QueryPane } from "./query/QueryPane";
import { RegisterDialog, SaveDialog } from "./dialogs/Register";
import { Results } from "./result/Results";
import { Saved } from "./side/Saved";
import { ViewAsDialog, ViewBar } from "./dialogs/ViewAs";
import { Splitter } from "./parts/Splitter";
import { Tabs } from "./parts/Tabs";
import { StagedDialog } from "./write/Staged";

const PANES: { id: Pane; label: string }[] = [
  { id: "schema", label: "Schema" },
  { id: "query", label: "Query" },
  { id: "result", label: "Result" },
];

const Diagram = later(async () => (await import("./pictures")).Diagram);

export function App() {
  useEffect(() => {
    document.title = `${config.title} · Playground`;
    const keys = (event: KeyboardEvent): void => {
      const mod = event.ctrlKey || event.metaKey;
      const key = event.key.toLowerCase();
      if (mod && key === "enter" && !event.defaultPrevented) void run();
      else if (mod && key === "k") dialog.value = "palette";
      else if (mod && key === "s") dialog.value = "save";
      else if (isAlt(event, "KeyF", true)) formatText();
      else if (key === "escape" && !event.defaultPrevented && !dialog.value) return cancel();
      else if (PANES.some((_, index) => isAlt(event, `Digit${index + 1}`))) focusPane(PANES[Number(event.code.at(-1)) - 1]?.id ?? "query");
      else return;
      event.preventDefault();
    };
    window.addEventListener("keydown", keys);
    return () => window.removeEventListener("keydown", keys);
  }, []);
  return (
    <>
      <a class="skip" href={mode.value === "query" ? "#query-pane" : "#data-pane"} onClick={skip}>
        Skip to the {SKIP_TO[mode.value]}
      </a>
      <Header />
      <ViewBar />
      {mode.value === "query" ? (
        <Panes />
      ) : (
        <main class="panes-data column" id="data-pane">
          {mode.value === "data" ? <Browser /> : <Diagram />}
        </main>
      )}
      <div class="notice-area" role="status" aria-live="polite">
        {notice.value && <p class={notice.value.bad ? "notice notice-error" : "notice"}>{notice.value.text}</p>}
      </div>
      <div class="hidden" role="status" aria-live="polite" data-testid="announcement">
        {announcement.value}
      </div>
      {dialog.value === "login" && <LoginDialog />}
      {dialog.value === "palette" && <Palette />}
      {dialog.value === "keys" && <KeysDialog />}
      {dialog.value === "save" && <SaveDialog />}
      {dialog.value === "register" && <RegisterDialog />}
      {dialog.value === "viewAs" && <ViewAsDialog />}
      {dialog.value === "staged" && <StagedDialog />}
    </>
  );
}

const SKIP_TO = { query: "query", data: "rows", diagram: "diagram" } as const;

/** Moves the focus past the header. */
function skip(event: Event): void {
  event.preventDefault();
  if (mode.value === "query") focusPane("query");
  else document.querySelector<HTMLElement>("#data-pane [role='grid'], #data-pane svg[tabindex], #data-pane input")?.focus();
}

/** The schema, the query and its result. */
function Panes() {
  return (
    <>
      <nav class="pane-switch" aria-label="Parts of the page">
        {PANES.map(({ id, label }) => (
          <button key={id} type="button" class="flat" aria-pressed={pane.value === id} onClick={() => (pane.value = id)}>
            {label}
          </button>
        ))}
      </nav>
      <main class="panes" data-pane={pane.value} style={columns()}>
        <aside class="pane column side" id="schema-pane" aria-label="Schema and saved queries">
          <Tabs
            label="Left side"
            tabs={[
              { id: "schema", label: "Schema" },
              { id: "saved", label: "Saved" },
            ]}
            chosen={sideTab.value}
            choose={(id) => (sideTab.value = id)}
            panel="side-panel"
          />
          <div class="fill" id="side-panel" role="tabpanel" aria-label={sideTab.value === "schema" ? "Schema" : "Saved"}>
            {sideTab.value === "schema" ? <Explorer /> : <Saved />}
          </div>
          <Splitter part="side" label="Width of the schema" />
        </aside>
        <section class="pane column query" id="query-pane" aria-label="Query">
          <QueryPane />
          <Splitter part="query" label="Width of the query" />
        </section>
        <section class="pane column result" id="result-pane" aria-label="Result">
          <Results />
        </section>
      </main>
    </>
  );
}

/** Returns the widths of the panes as variables of the style sheet, which uses them on wide screens. */
function columns(): Record<string, string> {
  const { side, query } = widths.value;
  return { ...(side ? { "--side": `${side}px` } : {}), ...(query ? { "--query": `${query}px` } : {}) };
}
