// The field of a record that takes a file: by drag and drop, or by a file dialog.

import { useRef, useState } from "preact/hooks";
import { size } from "../../format";
import { announce } from "../../notice";
import { requestError } from "../../run";
import { upload } from "../../write/upload";
import { written } from "../../write/state";
import { FormError } from "../parts/controls";

interface Props {
  entity: string;
  id: string;
  accepts: { field: string; maxBytes?: number; contentTypes?: string[] };
}

export function DropZone({ entity, id, accepts: { field, maxBytes, contentTypes } }: Props) {
  const [part, setPart] = useState<number | null>(null);
  const [error, setError] = useState("");
  const [isOver, setOver] = useState(false);
  const abort = useRef<AbortController | null>(null);
  const take = async (file: File | undefined): Promise<void> => {
    if (!file || part !== null) return;
    if (maxBytes !== undefined && file.size > maxBytes) {
      setError(`The file has ${size(file.size)}; at most ${size(maxBytes)} are allowed.`);
      return;
    }
    setError("");
    setPart(0);
    abort.current = new AbortController();
    try {
      await upload({ entity, id, field, file }, abort.current.signal, setPart);
      written(`Uploaded ${file.name}`);
    } catch (failure) {
      if (failure instanceof DOMException) announce("The upload was cancelled");
      else setError(requestError(failure).message);
    } finally {
      setPart(null);
    }
  };
  const limits = [contentTypes?.join(", "), maxBytes !== undefined && `at most ${size(maxBytes)}`].filter(Boolean).join("; ");
  return (
    <div
      class={isOver ? "drop-zone over" : "drop-zone"}
      data-testid={`drop-${field}`}
      onDragOver={(event) => (event.preventDefault(), setOver(true))}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const files = event.dataTransfer?.files;
        if (files && files.length > 1) setError(`A field has one file, but ${files.length} were dropped. Nothing was uploaded.`);
        else void take(files?.[0]);
      }}
    >
      {part === null ? (
        <label>
          <span class="soft">Drop a file here, or choose one</span>
          <input
            type="file"
            aria-label={`File for ${field}`}
            accept={contentTypes?.join(",")}
            onChange={({ currentTarget }) => {
              void take(currentTarget.files?.[0]);
              currentTarget.value = "";
            }}
          />
        </label>
      ) : (
        <span class="row">
          <progress class="grow" max={1} value={part} aria-label={`Upload to ${field}`} />
          <button type="button" class="small" onClick={() => abort.current?.abort()}>
            Cancel
          </button>
        </span>
      )}
      {limits !== "" && <p class="hint">{limits}</p>}
      <FormError text={error} />
    </div>
  );
}
