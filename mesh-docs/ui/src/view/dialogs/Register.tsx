// Saving of a query under a name in this browser, or as a persisted query on the server.

import { useEffect, useState } from "preact/hooks";
import { readPath, register } from "../../api/client";
import { signedHeaders } from "../../api/session";
import { shell } from "../../snippets";
import { current, dialog, query, recordId, say, sideTab, format, text } from "../../state";
import { saveNamed } from "../../storage";
import { copyText } from "../parts/copy";
import { Dialog } from "./Dialog";

export function SaveDialog() {
  const [name, setName] = useState("");
  const save = (event: Event): void => {
    event.preventDefault();
    if (name.trim() === "") return;
    saveNamed({ ...current(), name: name.trim() });
    dialog.value = null;
    sideTab.value = "saved";
    say(`Saved as ${name.trim()}`);
  };
  return (
    <Dialog title="Save the query">
      <form class="form" onSubmit={save}>
        <label>
          Name
          <input data-focus required maxLength={80} value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <p class="hint">Saved queries are stored in this browser.</p>
        <div class="form-end">
          <button type="submit" class="primary">
            Save
          </button>
        </div>
      </form>
    </Dialog>
  );
}

export function RegisterDialog() {
  const [id, setId] = useState("");
  const [error, setError] = useState("");
  useEffect(() => {
    register(text.value, format.value).then(setId, (failure: Error) => setError(failure.message));
  }, []);
  const [call, setCall] = useState("");
  useEffect(() => {
    if (!id) return;
    const path = readPath(query.value?.entity ?? "", recordId.value);
    void signedHeaders(id, { method: "GET", path, format: format.value }).then((signed) => {
      const headers = Object.entries({ "X-Mesh-Query-Id": id, ...signed });
      const lines = headers.map(([name, value]) => `-H ${shell(`${name}: ${value}`)}`);
      setCall([`curl -s ${shell(location.origin + path)}`, ...lines].join(" "));
    });
  }, [id]);
  return (
    <Dialog title="Persisted query">
      {error ? (
        <p class="form-error" role="alert">
          {error}
        </p>
      ) : (
        <>
          <p class="hint">Clients send this id instead of the text. A query has the same id on every server.</p>
          <div class="copy-line">
            <code data-testid="query-id">{id || "…"}</code>
            <button type="button" disabled={!id} onClick={() => void copyText(id, "Id")}>
              Copy
            </button>
          </div>
          <div class="copy-line">
            <code>{call || "…"}</code>
            <button type="button" disabled={!call} onClick={() => void copyText(call, "Call")}>
              Copy
            </button>
          </div>
        </>
      )}
    </Dialog>
  );
}
