// The panel for several new records, from rows that are pasted.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { readPath, type RequestError } from "../../api/client";
import { creating } from "../../browse/state";
import { count } from "../../format";
import { requestError } from "../../run";
import { entityOf, fieldOf, type Entity } from "../../schema";
import { schema } from "../../state";
import { widthOf } from "../../table/columns";
import { bodyOf } from "../../write/body";
import { sendWrite, type Write } from "../../write/requests";
import { parseRows, ROWS_MAX, type Pasted } from "../../write/rows";
import { written } from "../../write/state";
import { useFocusBefore } from "../parts/focus";
import { Panel } from "../parts/Panel";
import { DataGrid, type GridColumn } from "../table/DataGrid";

/** The most characters of a body that its preview shows. */
const PREVIEW_MAX = 4000;

interface RowFault {
  row: number;
  /** Empty if it is about the whole row. */
  field: string;
  message: string;
}

export function CreateMany({ entity: name }: { entity: string }) {
  const entity = schema.value ? entityOf(schema.value, name) : undefined;
  const focusBefore = useFocusBefore();
  const leave = (): void => {
    creating.value = null;
    focusBefore();
  };
  return entity ? (
    <Panel title={`New ${name} rows`} kind="record" testId="new-rows-panel" leave={leave}>
      <RowsForm entity={entity} leave={leave} />
    </Panel>
  ) : null;
}

function RowsForm({ entity, leave }: { entity: Entity; leave: () => void }) {
  const [text, setText] = useState("");
  const [error, setError] = useState<RequestError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => area.current?.focus(), []);
  const names = entity.writes?.create ?? [];
  const [pasted, wrong] = useMemo(() => parsedRows(text, names), [text]);
  const typeOf = (field: string): string | undefined => schema.value && fieldOf(schema.value, entity.name, field)?.type || undefined;
  const write: Write = useMemo(() => ({ method: "POST", path: readPath(entity.name, ""), body: `[\n${pasted.rows.map((row) => bodyOf(row, typeOf)).join(",\n")}\n]` }), [pasted]);
  const faults = error ? faultsOf(error) : [];
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy || wrong !== "" || pasted.rows.length === 0) return;
    setBusy(true);
    try {
      await sendWrite(write);
      leave();
      written(`Created ${count(pasted.rows.length, "record")} of ${entity.name}`);
    } catch (failure) {
      setError(requestError(failure));
      setBusy(false);
    }
  };
  const body = write.body ?? "";
  return (
    <form class="record-form column" data-testid="rows-form" onSubmit={(event) => void submit(event)}>
      <div class="record-form-fields fill">
        <div class="field-input">
          <label for="pasted-rows">CSV with a line of names, or JSON</label>
          <div class="field-control row">
            <textarea
              ref={area}
              id="pasted-rows"
              class="grow"
              rows={7}
              spellcheck={false}
              placeholder={`${names.slice(0, 3).join(",")}\n…`}
              value={text}
              aria-describedby="pasted-rows-about"
              onInput={({ currentTarget }) => (setText(currentTarget.value), setError(null))}
            />
          </div>
          <p class="hint" id="pasted-rows-about">
            Fields: {names.join(", ")}
          </p>
        </div>
        {wrong !== "" && (
          <p class="form-error bad" role="alert" data-testid="rows-wrong">
            {wrong}
          </p>
        )}
        {pasted.rows.length > 0 && <Preview pasted={pasted} faults={faults} />}
        <details class="request-preview">
          <summary>Request</summary>
          <pre class="record-text" data-testid="preview" tabIndex={0} aria-label="Request">
            {`${write.method} ${write.path}\n\n${body.length > PREVIEW_MAX ? `${body.slice(0, PREVIEW_MAX)}\n…` : body}`}
          </pre>
        </details>
      </div>
      <footer class="form-foot">
        {error && (
          <div class="form-error bad" role="alert" data-testid="form-error">
            {faults.map(({ row, field, message }) => (
              <p key={`${row} ${field}`}>
                Row {row + 1}
                {field !== "" && `, ${field}`}: {message}
              </p>
            ))}
            {faults.length === 0 && <p>{error.message}</p>}
            <p>No record was created.</p>
          </div>
        )}
        <div class="form-actions row">
          <button type="button" onClick={leave}>
            Cancel
          </button>
          <button type="submit" class="primary" data-testid="create-rows" disabled={isBusy || wrong !== "" || pasted.rows.length === 0}>
            Create {pasted.rows.length > 0 ? count(pasted.rows.length, "record") : "records"}
          </button>
        </div>
      </footer>
    </form>
  );
}

/** The rows as they were understood, with the cells that are at fault. */
function Preview({ pasted: { names, rows }, faults }: { pasted: Pasted; faults: readonly RowFault[] }) {
  const columns = useMemo(
    () => names.map((name): GridColumn => ({ key: name, head: <span class="ellipsis">{name}</span>, label: name, isNumber: false, width: widthOf(name, rows.slice(0, 50).map((row) => row.get(name) ?? "")) })),
    [names, rows],
  );
  return (
    <div class="rows-preview column">
      <DataGrid
        label="Rows to create"
        testId="pasted"
        columns={columns}
        rows={rows.length}
        act={() => undefined}
        cell={(row, column) => {
          const name = names[column] ?? "";
          const input = rows[row]?.get(name);
          const fault = faults.find((one) => one.row === row && (one.field === name || one.field === ""));
          return { class: fault ? "at-fault" : input === null || input === undefined ? "null" : "", content: input === undefined ? "" : (input ?? "null"), title: fault?.message ?? input ?? undefined };
        }}
      />
    </div>
  );
}

/** Returns the rows of a text, and what is wrong with it. */
function parsedRows(text: string, names: readonly string[]): [Pasted, string] {
  try {
    const pasted = parseRows(text);
    const unknown = pasted.names.find((name) => !names.includes(name));
    if (unknown !== undefined) return [pasted, `“${unknown}” is no field that can be set.`];
    return [pasted, pasted.rows.length > ROWS_MAX ? `These are ${pasted.rows.length} rows; a request can have ${ROWS_MAX}.` : ""];
  } catch (failure) {
    return [{ names: [], rows: [] }, (failure as Error).message];
  }
}

/** Returns the rows and fields that an error is about. Its paths begin with the index of the row. `SPEC §18.1` */
function faultsOf(error: RequestError): RowFault[] {
  const faults = error.details.fields ?? (error.details.path === undefined ? [] : [{ path: error.details.path, message: error.message }]);
  return faults.flatMap(({ path, message }) => {
    const [, row, field = ""] = /^(\d+)(?:\.(.*))?$/.exec(path) ?? [];
    return row === undefined ? [] : [{ row: Number(row), field, message }];
  });
}
