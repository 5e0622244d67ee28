// The query behind the rows of the data browser.

import { signal } from "@preact/signals";
import { openInEditor, queryText } from "../../browse/state";
import { Reader } from "../../editor/Reader";
import { copyText } from "../parts/copy";
import { Chevron } from "../parts/icons";

const isOpen = signal(window.innerHeight > 800 && window.innerWidth > 720);

export function QueryLine() {
  const text = queryText.value;
  return (
    <div class="query-line column" data-testid="query-behind">
      <div class="query-line-head row">
        <button type="button" class="fold flat" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          <Chevron />
          Query
        </button>
        <code class="grow ellipsis faint">{isOpen.value ? "" : text.replaceAll(/\s+/g, " ")}</code>
        <button type="button" class="quiet small wide-only" onClick={() => void copyText(text, "Query")}>
          Copy
        </button>
        <button type="button" class="small" data-testid="open-in-editor" onClick={() => openInEditor(text)}>
          Open in the editor
        </button>
      </div>
      {isOpen.value && (
        <div class="query-line-text column">
          <Reader text={text} label="The query of these rows" />
        </div>
      )}
    </div>
  );
}
