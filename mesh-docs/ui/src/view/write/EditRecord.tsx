// The panel's form for a record that exists, and the confirmation of its deletion.

import { useEffect, useRef, useState } from "preact/hooks";
import { readPath, type RequestError } from "../../api/client";
import { editing } from "../../browse/state";
import { requestError } from "../../run";
import type { Entity } from "../../schema";
import { previewOf, readOriginal, sendWrite, type Original, type Write } from "../../write/requests";
import { hasBatch, stage } from "../../write/staged";
import { deleted, written } from "../../write/state";
import { FormError } from "../parts/controls";
import { refocus } from "../parts/focus";
import { RecordForm, updateOf } from "./RecordForm";

/** Reads a record to be written; again when the returned function is called. */
function useOriginal(entity: Entity, id: string): [Original | null, RequestError | null, () => void] {
  const [original, setOriginal] = useState<Original | null>(null);
  const [error, setError] = useState<RequestError | null>(null);
  const [reads, setReads] = useState(0);
  useEffect(() => {
    let isOver = false;
    readOriginal(entity, id)
      .then((read) => isOver || setOriginal(read))
      .catch((failure: unknown) => isOver || setError(requestError(failure)));
    return () => {
      isOver = true;
    };
  }, [entity, id, reads]);
  return [original, error, () => setReads(reads + 1)];
}

export function EditRecord({ entity, id, first }: { entity: Entity; id: string; first: string }) {
  const [original, error, refresh] = useOriginal(entity, id);
  const cancel = (): void => {
    editing.value = null;
  };
  const done = (): void => {
    cancel();
    written(`Saved ${entity.name} ${id}`);
  };
  if (error) return <p class="form-error bad pad">{error.message}</p>;
  if (!original) return <p class="hint pad">Reading…</p>;
  return <RecordForm entity={entity} names={entity.writes?.update ?? []} original={original} write={updateOf(entity.name, id, original)} action="Save" first={first} done={done} cancel={cancel} refresh={refresh} />;
}

/** Asks whether a record is to be deleted. */
export function DeleteRecord({ entity, id, cancel }: { entity: Entity; id: string; cancel: () => void }) {
  const [original, unread] = useOriginal(entity, id);
  const [refusal, setRefusal] = useState<RequestError | null>(null);
  const host = useRef<HTMLDivElement>(null);
  const error = refusal ?? unread;
  const write: Write = { method: "DELETE", path: readPath(entity.name, id), unchanged: original?.tag };
  useEffect(() => {
    host.current?.querySelector("button")?.focus();
  }, [original === null]);
  const act = async (): Promise<void> => {
    try {
      await sendWrite(write);
      deleted(`Deleted ${entity.name} ${id}`);
      refocus(() => document.querySelector<HTMLElement>(".browse-rows [role='grid']"));
    } catch (failure) {
      setRefusal(requestError(failure));
    }
  };
  return (
    <div class="confirm" role="alertdialog" aria-label={`Delete ${entity.name} ${id}`} data-testid="confirm-delete" ref={host}>
      <p class="strong">
        Delete {entity.name} {id}? This cannot be undone.
      </p>
      <pre class="record-text" tabIndex={0} aria-label="Request">
        {previewOf(write)}
      </pre>
      <FormError text={error?.status === 412 ? "The record has changed since it was read. Look at it again before you delete it." : error?.message} />
      <div class="form-actions row">
        <button type="button" onClick={cancel}>
          Cancel
        </button>
        {hasBatch() && (
          <button type="button" data-testid="stage-delete" title="Delete it later, together with other changes" onClick={() => (stage(write), cancel())}>
            Stage
          </button>
        )}
        <button type="button" class="danger" data-testid="delete-now" disabled={!original} onClick={() => void act()}>
          Delete
        </button>
      </div>
    </div>
  );
}
