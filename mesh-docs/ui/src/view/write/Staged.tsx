// The changes that are staged, and the batch that they are sent as.

import { useState } from "preact/hooks";
import type { RequestError } from "../../api/client";
import { count } from "../../format";
import { requestError } from "../../run";
import { dialog } from "../../state";
import { previewOf, sendWrite } from "../../write/requests";
import { batchOf, staged, unstage, withDependents } from "../../write/staged";
import { written } from "../../write/state";
import { Dialog } from "../dialogs/Dialog";
import { FormError } from "../parts/controls";

/** The line that says how many changes are staged. */
export function StagedBar() {
  if (staged.value.length === 0) return null;
  return (
    <div class="view-bar row" role="status" data-testid="staged-bar">
      <span class="grow">{count(staged.value.length, "change")} staged, not written yet.</span>
      <button type="button" class="small" data-testid="review" onClick={() => (dialog.value = "staged")}>
        Review and send
      </button>
    </div>
  );
}

export function StagedDialog() {
  const [error, setError] = useState<RequestError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const writes = staged.value;
  const batch = batchOf(writes);
  const send = async (): Promise<void> => {
    setBusy(true);
    try {
      await sendWrite(batch);
      staged.value = [];
      dialog.value = null;
      written(`Wrote ${count(writes.length, "change")}`);
    } catch (failure) {
      setError(requestError(failure));
    }
    setBusy(false);
  };
  const remove = (index: number): void => {
    setError(null);
    unstage(index);
    if (staged.value.length === 0) dialog.value = null;
  };
  return (
    <Dialog title="Staged changes" kind="wide">
      <p class="hint">They are sent in this order as one transaction: if one fails, none is written. A search offers the new records to later changes, which refer to them by their names. A batch does not check whether others have changed the records since they were read.</p>
      <ol class="staged">
        {writes.map((write, index) => (
          <li key={index} class={error?.details.step === index ? "at-fault" : ""} data-testid="staged-change">
            <div class="row spread">
              <pre class="record-text grow">{previewOf({ ...write, unchanged: undefined })}</pre>
              {write.created && <span class="faint">{write.created.name}</span>}
              <RemoveButton index={index} remove={() => remove(index)} />
            </div>
            {error?.details.step === index && <FormError text={error.message} />}
          </li>
        ))}
      </ol>
      <details class="request-preview">
        <summary>Request</summary>
        <pre class="record-text" data-testid="batch-preview" tabIndex={0} aria-label="Request">
          {previewOf(batch)}
        </pre>
      </details>
      {error?.details.step === undefined && <FormError text={error?.message} />}
      <div class="form-actions row">
        <button type="button" onClick={() => ((staged.value = []), (dialog.value = null))}>
          Discard all
        </button>
        <button type="button" class="primary" data-focus data-testid="send-batch" disabled={isBusy} onClick={() => void send()}>
          Send {count(writes.length, "change")}
        </button>
      </div>
    </Dialog>
  );
}

/** Removes a change. Says how many others refer to its record, which are removed as well. */
function RemoveButton({ index, remove }: { index: number; remove: () => void }) {
  const others = withDependents(index).length - 1;
  const more = others === 0 ? "" : ` and ${others} that ${others === 1 ? "refers" : "refer"} to it`;
  return (
    <button type="button" class="quiet small" aria-label={`Remove change ${index + 1}${more}`} onClick={remove}>
      Remove{more}
    </button>
  );
}
