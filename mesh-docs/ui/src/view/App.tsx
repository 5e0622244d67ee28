// The layout of the page: header, schema, query and result; one of the three at a time on narrow screens.

import { useEffect } from "preact/hooks";
import { config } from "../config";
import { dialog, notice, pane, run, sideTab, type Pane } from "../state";
import { widths } from "../storage";
import { Explorer } from "./side/Explorer";
import { focusPane } from "./parts/focus";
import { Header } from "./Header";
import { KeysDialog } from "./dialogs/Keys";
import { LoginDialog } from "./dialogs/Login";
import { Palette } from "./dialogs/Palette";
import { QueryPane } from "./query/QueryPane";
import { RegisterDialog, SaveDialog } from "./dialogs/Register";
import { Results } from "./result/Results";
import { Saved } from "./side/Saved";
import { Splitter } from "./parts/Splitter";
import { Tabs } from "./parts/Tabs";

const PANES: { id: Pane; label: string }[] = [
  { id: "schema", label: "Schema" },
  { id: "query", label: "Query" },
  { id: "result", label: "Result" },
];

export function App() {
  useEffect(() => {
    document.title = `${config.title} · Playground`;
    const keys = (event: KeyboardEvent): void => {
      const mod = event.ctrlKey || event.metaKey;
      const taken = (act: () => void): void => {
        event.preventDefault();
        act();
      };
      if (mod && event.key === "Enter" && !event.defaultPrevented) taken(() => void run());
      else if (mod && event.key.toLowerCase() === "k") taken(() => (dialog.value = "palette"));
      else if (mod && event.key.toLowerCase() === "s") taken(() => (dialog.value = "save"));
      else if (event.altKey && /^[123]$/.test(event.key)) taken(() => focusPane(PANES[Number(event.key) - 1]?.id ?? "query"));
    };
    window.addEventListener("keydown", keys);
    return () => window.removeEventListener("keydown", keys);
  }, []);
  return (
    <>
      <a class="skip" href="#query-pane" onClick={(event) => (event.preventDefault(), focusPane("query"))}>
        Skip to the query
      </a>
      <Header />
      <nav class="pane-switch" aria-label="Parts of the page">
        {PANES.map(({ id, label }) => (
          <button key={id} type="button" aria-pressed={pane.value === id} onClick={() => (pane.value = id)}>
            {label}
          </button>
        ))}
      </nav>
      <main class="panes" data-pane={pane.value} style={columns()}>
        <aside class="pane side" id="schema-pane" aria-label="Schema and saved queries">
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
          <div class="side-panel" id="side-panel" role="tabpanel" aria-label={sideTab.value === "schema" ? "Schema" : "Saved"}>
            {sideTab.value === "schema" ? <Explorer /> : <Saved />}
          </div>
          <Splitter part="side" label="Width of the schema" />
        </aside>
        <section class="pane query" id="query-pane" aria-label="Query">
          <QueryPane />
          <Splitter part="query" label="Width of the query" />
        </section>
        <section class="pane result" id="result-pane" aria-label="Result">
          <Results />
        </section>
      </main>
      <div class="notice-place" role="status" aria-live="polite">
        {notice.value && <p class={notice.value.bad ? "notice bad" : "notice"}>{notice.value.text}</p>}
      </div>
      {dialog.value === "login" && <LoginDialog />}
      {dialog.value === "palette" && <Palette />}
      {dialog.value === "keys" && <KeysDialog />}
      {dialog.value === "save" && <SaveDialog />}
      {dialog.value === "register" && <RegisterDialog />}
    </>
  );
}

/** Widths go to the style sheet as variables, which it uses where the parts stand side by side. */
function columns(): Record<string, string> {
  const { side, query } = widths.value;
  return { ...(side ? { "--side": `${side}px` } : {}), ...(query ? { "--query": `${query}px` } : {}) };
}
