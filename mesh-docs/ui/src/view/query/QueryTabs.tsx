// The bar of the tabs of queries.

import { current, openedTab } from "../../state";
import { closeTab, newTab, runnable, runTabs, showTab, tabName, tabs } from "../../tabs";
import { IconButton } from "../parts/controls";
import { Close, Play, Plus } from "../parts/icons";

export function QueryTabs() {
  const active = openedTab.value;
  const focusActive = (bar: Element | null): void => {
    requestAnimationFrame(() => bar?.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  const keys = (event: KeyboardEvent): void => {
    const at = tabs.value.findIndex(({ key }) => key === active);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step !== undefined) showTab(tabs.value.at((at + step) % tabs.value.length)?.key ?? active);
    else if (event.key === "Delete") closeTab(active);
    else return;
    event.preventDefault();
    focusActive(event.currentTarget as Element);
  };
  return (
    <div class="query-tabs row">
      <div class="tabs grow" role="tablist" aria-label="Queries" onKeyDown={keys}>
        {tabs.value.map(({ key, draft }) => {
          const name = tabName(key === active ? current() : draft);
          return (
            <button
              key={key}
              type="button"
              role="tab"
              class="flat"
              title={name}
              aria-selected={key === active}
              aria-controls="query-body"
              tabIndex={key === active ? 0 : -1}
              onClick={() => showTab(key)}
              onAuxClick={(event) => event.button === 1 && closeTab(key)}
            >
              <span class="ellipsis">{name}</span>
            </button>
          );
        })}
      </div>
      {runnable.value > 0 && (
        <IconButton label={`Run ${runnable.value} tabs as one`} title={`Run ${runnable.value} tabs as one, on the same data`} testId="run-tabs" act={() => void runTabs()}>
          <Play />
        </IconButton>
      )}
      {tabs.value.length > 1 && (
        <IconButton label="Close this query" title="Close this query (Delete)" testId="close-tab" act={() => closeTab(active)}>
          <Close />
        </IconButton>
      )}
      <IconButton label="New query" title="New query" testId="new-tab" act={() => newTab()}>
        <Plus />
      </IconButton>
    </div>
  );
}
