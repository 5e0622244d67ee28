// The form that creates or changes a record, with a preview of its request.

import { useEffect, useId, useMemo, useRef, useState } from "preact/hooks";
import { readPath, type RequestError } from "../../api/client";
import { allColumns } from "../../browse/columns";
import { size } from "../../format";
import { member } from "../../query/json";
import { requestError } from "../../run";
import { idFields, scalars, type Entity, type Field, type Relation } from "../../schema";
import { schema } from "../../state";
import { bodyOf, inputOf, isJson, withoutReferences, type Input } from "../../write/body";
import { previewOf, sendWrite, type Original, type Write } from "../../write/requests";
import { hasBatch, isReference, stage } from "../../write/staged";
import { upload, uploadPath, type Upload } from "../../write/upload";
import { FieldInput } from "./FieldInput";

interface Props {
  entity: Entity;
  /** The fields that may be written. */
  names: readonly string[];
  /** The record as it was read; absent for a new one. */
  original?: Original;
  /** The write without its body. */
  write: Write;
  action: string;
  /** The field that is focused first. */
  first?: string;
  /** Called with the header `Location` of the reply. */
  done: (location: string | null) => void;
  cancel: () => void;
  /** Reads the record again, after others have changed it. */
  refresh?: () => void;
}

export function RecordForm({ entity, names, original, write, action, first = "", done, cancel, refresh }: Props) {
  const [inputs, setInputs] = useState<ReadonlyMap<string, Input>>(new Map());
  const [error, setError] = useState<RequestError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [file, setFile] = useState<{ field: string; file: File } | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const files = new Set(entity.uploads?.map(({ field }) => field));
  const fields = scalars(entity).filter(({ name }) => names.includes(name) && !files.has(name));
  const links = useMemo(() => linksOf(entity), [entity]);
  const typeOf = (name: string): string | undefined => entity.fields.find((field) => field.name === name)?.type;
  const before = (name: string): Input | undefined => original && inputOf(member(original.data, name), original.source);
  const changed = new Map([...inputs].filter(([name, input]) => input !== before(name)));
  const request: Write = { ...write, body: bodyOf(changed, typeOf) };
  // Of a new record, which the route of its entity creates.
  const uploads = original === undefined && write.path === readPath(entity.name, "") ? (entity.uploads ?? []) : [];
  const sent: Upload | undefined = file ? { entity: entity.name, ...file, ...(request.body !== undefined && { meta: request.body }) } : undefined;
  /** Whether the value of a field is a record that is staged. Only a batch can have it. */
  const refers = (name: string): boolean => links.has(name) && isReference(changed.get(name));
  const isDeferred = [...changed.keys()].some(refers);
  const step: Write = { ...request, body: bodyOf(changed, typeOf, (name, value) => (refers(name) ? value : withoutReferences(value))) };
  const wrong = fields.find(({ name, type }) => type === "json" && isBadJson(changed.get(name)));
  const faultOf = ({ name }: Field): string | undefined => (wrong?.name === name ? "This is not JSON." : error?.details.fields?.find(({ path }) => path === name)?.message);
  const shown = new Set(fields.map(({ name }) => name));
  const focused = first === "" ? (fields.find(({ name }) => !idFields(entity).includes(name)) ?? fields[0])?.name : first;
  const hasOther = error !== null && !(error.details.fields?.length && error.details.fields.every(({ path }) => shown.has(path)));
  useEffect(() => {
    form.current?.querySelector<HTMLElement>("[data-focus]")?.focus();
  }, []);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>("[aria-invalid='true']")?.focus();
  }, [error]);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy || wrong || isDeferred) return;
    setBusy(true);
    try {
      done(sent ? await upload(sent, new AbortController().signal, () => undefined) : (await sendWrite(request)).headers.get("Location"));
    } catch (failure) {
      setError(requestError(failure));
      setBusy(false);
    }
  };
  return (
    <form ref={form} class="record-form column" data-testid="record-form" noValidate onSubmit={(event) => void submit(event)}>
      <div class="record-form-fields fill">
        {fields.map((field) => (
          <FieldInput
            key={field.name}
            field={field}
            input={inputs.has(field.name) ? inputs.get(field.name) : before(field.name)}
            fault={faultOf(field)}
            link={links.get(field.name)}
            hasFocus={field.name === focused}
            change={(input) => setInputs(new Map(inputs).set(field.name, input))}
          />
        ))}
        {uploads.map((accepts) => (
          <FileInput key={accepts.field} accepts={accepts} chosen={file?.field === accepts.field ? file.file : undefined} choose={(chosen) => setFile(chosen ? { field: accepts.field, file: chosen } : null)} />
        ))}
        <details class="request-preview" open>
          <summary>Request</summary>
          <pre class="record-text" data-testid="preview" tabIndex={0} aria-label="Request">
            {sent ? uploadPreview(sent) : previewOf(request)}
          </pre>
        </details>
      </div>
      <footer class="form-foot">
        {error && hasOther && <FormError error={error} refresh={refresh && (() => (setError(null), refresh()))} />}
        <div class="form-actions row">
          <button type="button" onClick={cancel}>
            Cancel
          </button>
          {hasBatch() && !sent && (
            <button type="button" data-testid="stage" title="Send it later, together with other changes" disabled={isBusy || wrong !== undefined || (original !== undefined && changed.size === 0)} onClick={() => (stage(step, original ? undefined : entity.name), cancel())}>
              Stage
            </button>
          )}
          <button type="submit" class="primary" data-testid="save-record" title={isDeferred ? "It refers to a new record, and can be staged only" : undefined} disabled={isBusy || isDeferred || (original !== undefined && changed.size === 0)}>
            {action}
          </button>
        </div>
      </footer>
    </form>
  );
}

/** The input of the file of a new record, of which a request has at most one. */
function FileInput({ accepts: { field, maxBytes, contentTypes }, chosen, choose }: { accepts: NonNullable<Entity["uploads"]>[number]; chosen: File | undefined; choose: (file: File | undefined) => void }) {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!chosen && input.current) input.current.value = "";
  }, [chosen]);
  const isLarge = chosen !== undefined && maxBytes !== undefined && chosen.size > maxBytes;
  const limits = [contentTypes?.join(", "), maxBytes !== undefined && `at most ${size(maxBytes)}`].filter(Boolean).join("; ");
  return (
    <div class="field-input">
      <label for={id}>
        {field} <span class="faint">file</span>
      </label>
      <div class="field-control row">
        <input ref={input} id={id} type="file" class="grow" data-testid={`file-${field}`} accept={contentTypes?.join(",")} aria-describedby={`${id}-limits`} onChange={({ currentTarget }) => choose(currentTarget.files?.[0])} />
        {chosen && (
          <button type="button" class="quiet small" aria-label={`No file for ${field}`} onClick={() => choose(undefined)}>
            No file
          </button>
        )}
      </div>
      <p class={isLarge ? "field-fault bad" : "hint"} id={`${id}-limits`}>
        {chosen && `${chosen.name}, ${size(chosen.size)}. `}
        {limits}
      </p>
    </div>
  );
}

function uploadPreview(sent: Upload): string {
  return `POST ${uploadPath(sent)}\nContent-Type: multipart/form-data\n\nmeta: ${sent.meta ?? "{}"}\nfile: ${sent.file.name}, ${size(sent.file.size)}`;
}

function FormError({ error, refresh }: { error: RequestError; refresh: (() => void) | undefined }) {
  const isStale = error.status === 412;
  return (
    <div class="form-error bad" role="alert" data-testid="form-error">
      <p>{isStale ? "The record has changed since it was read. Nothing was written." : error.message}</p>
      {isStale && refresh && (
        <button type="button" class="small" data-testid="read-again" onClick={refresh}>
          Read it again and keep my changes
        </button>
      )}
    </div>
  );
}

function isBadJson(input: Input | undefined): boolean {
  return typeof input === "string" && !isJson(input);
}

/** Returns the relations by the fields that are their keys. */
function linksOf(entity: Entity): Map<string, Relation> {
  const known = schema.value;
  const columns = known ? allColumns(known, entity) : [];
  return new Map(columns.flatMap((column) => (column.kind === "field" && column.link ? [[column.name, column.link] as const] : [])));
}

/** Returns the write that changes a record. */
export function updateOf(entity: string, id: string, original: Original): Write {
  return { method: "PUT", path: readPath(entity, id), unchanged: original.tag };
}
