// The query pane: target, text, and forms.

import { useState } from "preact/hooks";
import { config } from "../../config";
import { QueryEditor } from "../../editor/QueryEditor";
import { entityOf } from "../../schema";
import { LANGUAGES, snippet, type Language } from "../../snippets";
import { current, dialog, format, formatText, isQuery, query, recordId, run, running, say, schema, setFormat, startQuery, text } from "../../state";
import { shareLink } from "../../storage";
import { Controls } from "./Controls";
import { copyText } from "../parts/copy";
import { Bookmark, Copy, Play, Share, Star, Tidy } from "../parts/icons";
import { Menu } from "../parts/Menu";

export function QueryPane() {
  return (
    <>
      <Target />
      <Tools />
      <QueryEditor />
      <Controls />
    </>
  );
}

function Target() {
  const entity = query.value?.entity ?? "";
  const found = schema.value;
  const canPoint = !found || entityOf(found, entity)?.idField !== null;
  return (
    <form
      class="target"
      onSubmit={(event) => {
        event.preventDefault();
        void run();
      }}
    >
      <span class="method" aria-hidden="true">
        GET
      </span>
      <span class="path">
        <span class="path-base">{config.base}/</span>
        <label>
          <span class="hidden">Entity</span>
          <select data-testid="entity" value={entity} onChange={(event) => startQuery(event.currentTarget.value)}>
            {!found?.entities.some((one) => one.name === entity) && <option value={entity}>{entity || "…"}</option>}
            {found?.entities.map((one) => (
              <option key={one.name} value={one.name}>
                {one.name}
              </option>
            ))}
          </select>
        </label>
        <span class="path-base">/</span>
        <label class="id">
          <span class="hidden">Record id; empty reads the collection</span>
          <input data-testid="id" placeholder={canPoint ? "id" : "no id"} disabled={!canPoint && recordId.value === ""} autocomplete="off" spellcheck={false} value={recordId.value} onInput={(event) => (recordId.value = event.currentTarget.value)} />
        </label>
      </span>
      <button type="submit" class="primary run" data-testid="run" aria-keyshortcuts="Control+Enter" title="Ctrl Enter">
        <Play />
        {running.value ? "Running" : "Run"}
      </button>
    </form>
  );
}

function Tools() {
  return (
    <div class="tools" role="toolbar" aria-label="Query tools">
      <div class="switch" role="group" aria-label="Format">
        {(["json", "ql"] as const).map((one) => (
          <button key={one} type="button" data-testid={`format-${one}`} aria-pressed={format.value === one} onClick={() => setFormat(one)}>
            {one === "json" ? "JSON" : "QL"}
          </button>
        ))}
      </div>
      <span class="grow" />
      <button type="button" class="quiet square" aria-label="Format" title="Format (Shift Alt F)" onClick={formatText}>
        <Tidy />
      </button>
      <CopyAs />
      <button type="button" class="quiet square" aria-label="Copy a link" title="Copy a link to this query" data-testid="share" onClick={() => void copyText(shareLink(text.value, format.value, recordId.value), "Link")}>
        <Share />
      </button>
      <button type="button" class="quiet square" aria-label="Save under a name" title="Save under a name (Ctrl S)" onClick={() => (dialog.value = "save")}>
        <Star />
      </button>
      {config.persisted && (
        <button type="button" class="quiet square" aria-label="Register as persisted query" title="Register as persisted query" data-testid="register" onClick={() => (dialog.value = "register")}>
          <Bookmark />
        </button>
      )}
    </div>
  );
}

function CopyAs() {
  const [copied, setCopied] = useState<Language | null>(null);
  const copy = async (language: Language): Promise<void> => {
    const entity = query.value?.entity;
    if (!entity || !isQuery.value) return say("The text is not a valid query", true);
    await copyText(await snippet(language, current(), entity, location.origin), language);
    setCopied(language);
  };
  return (
    <Menu
      label="Copy as"
      testId="copy-as"
      face={
        <>
          <Copy />
          <span class="wide-only">Copy as</span>
        </>
      }
      items={LANGUAGES.map((language) => ({ label: language, note: copied === language ? "copied" : "", act: () => void copy(language) }))}
    />
  );
}
