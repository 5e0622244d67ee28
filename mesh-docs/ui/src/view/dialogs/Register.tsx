// Saving of a query under a name in this browser, or as a persisted query on the server.

import { useEffect, useState } from "preact/hooks";
import { readHeaders, readPath, register } from "../../api/client";
import { placeholder } from "../../api/session";
import { curl } from "../../snippets";
import { notify } from "../../notice";
import { current, dialog, format, query, recordId, sideTab, text } from "../../state";
import { saveNamed } from "../../storage";
import { copyText } from "../parts/copy";
import { FormError } from "../parts/controls";
import { Dialog, DialogForm } from "./Dialog";

export function SaveDialog() {
  const [typed, setTyped] = useState("");
  const save = (): void => {
    const name = typed.trim();
    if (name === "") return;
    saveNamed({ ...current(), name });
    dialog.value = null;
    sideTab.value = "saved";
    notify(`Saved as ${name}`);
  };
  return (
    <Dialog title="Save the query">
      <DialogForm action="Save" submit={save}>
        <label class="soft">
          Name
          <input data-focus required maxLength={80} value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
        </label>
        <p class="hint">Saved queries are stored in this browser. A slash puts the query into a folder: reports/month.</p>
      </DialogForm>
    </Dialog>
  );
}

export function RegisterDialog() {
  const [id, setId] = useState("");
  const [call, setCall] = useState("");
  const [error, setError] = useState("");
  const start = async (): Promise<void> => {
    const id = await register(text.value, format.value);
    setId(id);
    const path = readPath(query.value?.entity ?? "", recordId.value);
    setCall(curl(location.origin + path, { ...(await readHeaders(current(), path, id)), ...placeholder() }, " "));
  };
  useEffect(() => {
    start().catch((failure: Error) => setError(failure.message));
  }, []);
  return (
    <Dialog title="Persisted query">
      {error ? (
        <FormError text={error} />
      ) : (
        <>
          <p class="hint">Clients send this id instead of the text. A query has the same id on every server.</p>
          <CopyLine text={id} what="Id" testId="query-id" />
          <CopyLine text={call} what="Call" />
        </>
      )}
    </Dialog>
  );
}

function CopyLine({ text, what, testId }: { text: string; what: string; testId?: string }) {
  return (
    <div class="copy-line row">
      <code class="fill" data-testid={testId}>
        {text || "…"}
      </code>
      <button type="button" disabled={!text} onClick={() => void copyText(text, what)}>
        Copy
      </button>
    </div>
  );
}
