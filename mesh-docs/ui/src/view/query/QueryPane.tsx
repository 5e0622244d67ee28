// The query pane: target, text, and forms.

import { useState } from "preact/hooks";
import { viewAs } from "../../api/viewAs";
import { config } from "../../config";
import { QueryEditor } from "../../editor/QueryEditor";
import { entityOf, idFields } from "../../schema";
import { keyName } from "../../keys";
import { notify } from "../../notice";
import { cancel, run, running } from "../../run";
import { hasToken, LANGUAGES, snippet, type Language } from "../../snippets";
import { current, dialog, format, formatText, isQuery, query, recordId, schema, setFormat, startQuery } from "../../state";
import { Combobox } from "../parts/Combobox";
import { IconButton } from "../parts/controls";
import { copyLink, copyText } from "../parts/copy";
import { Bookmark, Close, Copy, Play, Share, Star, Tidy } from "../parts/icons";
import { Menu } from "../parts/Menu";
import { Controls } from "./Controls";
import { Params } from "./Params";
import { QueryTabs } from "./QueryTabs";

export function QueryPane() {
  return (
    <>
      <QueryTabs />
      <div class="query-body column" id="query-body" role="tabpanel" aria-label="The chosen query">
        <Target />
        <Tools />
        <QueryEditor />
        <Params />
        <Controls />
      </div>
    </>
  );
}

function Target() {
  const entity = query.value?.entity ?? "";
  const known = schema.value;
  const ids = idFields(known ? entityOf(known, entity) : undefined);
  const hasPoints = !known || ids.length > 0;
  const submit = (event: Event): void => {
    event.preventDefault();
    void run();
  };
  return (
    <form class="target row" onSubmit={submit}>
      <span class="method act" aria-hidden="true">
        GET
      </span>
      <span class="path row grow">
        <span class="faint wide-only">{config.base}/</span>
        <Combobox label="Entity" testId="entity" placeholder="entity" value={entity} options={known?.entities.map(({ name }) => name) ?? []} choose={startQuery} />
        <span class="faint">/</span>
        <input
          class="record-id"
          data-testid="id"
          aria-label="Record id; empty reads the collection"
          placeholder={!hasPoints ? "no id" : ids.length > 1 ? ids.join(",") : "id"}
          disabled={!hasPoints && recordId.value === ""}
          autocomplete="off"
          spellcheck={false}
          value={recordId.value}
          onInput={(event) => (recordId.value = event.currentTarget.value)}
        />
      </span>
      {running.value && (
        <button type="button" data-testid="cancel" aria-label="Cancel" title="Escape" onClick={cancel}>
          <Close />
          <span class="wide-only">Cancel</span>
        </button>
      )}
      <button type="submit" class="primary run" data-testid="run" aria-keyshortcuts="Control+Enter" title={keyName("Ctrl Enter")}>
        <Play />
        Run
      </button>
    </form>
  );
}

function Tools() {
  return (
    <div class="tools row" role="toolbar" aria-label="Query tools">
      <div class="switch" role="group" aria-label="Format">
        {(["json", "ql"] as const).map((name) => (
          <button key={name} type="button" class="flat" data-testid={`format-${name}`} aria-pressed={format.value === name} onClick={() => setFormat(name)}>
            {name.toUpperCase()}
          </button>
        ))}
      </div>
      <span class="grow" />
      <IconButton label="Format" title={`Format (${keyName("Shift Alt F")})`} act={formatText}>
        <Tidy />
      </IconButton>
      <CopyAs />
      <IconButton label="Copy a link" title="Copy a link to this query" testId="share" act={copyLink}>
        <Share />
      </IconButton>
      <IconButton label="Save under a name" title={`Save under a name (${keyName("Ctrl S")})`} act={() => (dialog.value = "save")}>
        <Star />
      </IconButton>
      {config.persisted && !viewAs.value && (
        <IconButton label="Register as persisted query" title="Register as persisted query" testId="register" act={() => (dialog.value = "register")}>
          <Bookmark />
        </IconButton>
      )}
    </div>
  );
}

function CopyAs() {
  const [copied, setCopied] = useState<Language | null>(null);
  const copy = async (language: Language): Promise<void> => {
    const entity = query.value?.entity;
    if (!entity || !isQuery.value) return notify("The text is not a valid query", true);
    const note = hasToken(language) ? ". It contains the token of your session, which gives others your access until it expires." : "";
    await copyText(await snippet(language, current(), entity, location.origin), language, note);
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
      items={LANGUAGES.map((language) => ({ label: language, note: copied === language ? "copied" : hasToken(language) ? "with your token" : "", act: () => void copy(language) }))}
    />
  );
}
