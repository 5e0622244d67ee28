// The live view of a record over its event stream.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { watch } from "../../api/client";
import { Reader } from "../../editor/Reader";
import { formatJson, parseJson } from "../../query/json";
import { current, isPoint, isQuery, query } from "../../state";
import { count } from "./format";

/** The last state of the record, and the number of states received. */
interface Received {
  data: string;
  time: Date;
  count: number;
}

export function Watch() {
  const [isWatching, setWatching] = useState(false);
  const [received, setReceived] = useState<Received | null>(null);
  const [error, setError] = useState("");
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const text = useMemo(() => {
    if (!received) return "";
    try {
      return formatJson(parseJson(received.data), received.data);
    } catch {
      return received.data;
    }
  }, [received]);
  const start = async (): Promise<void> => {
    const entity = query.value?.entity;
    if (!entity) return;
    const controller = (abort.current = new AbortController());
    setWatching(true);
    setError("");
    setReceived(null);
    try {
      await watch(current(), entity, controller.signal, ({ kind, data }) => {
        if (kind === "update") setReceived((last) => ({ data, time: new Date(), count: (last?.count ?? 0) + 1 }));
        else if (kind === "error") setError((JSON.parse(data) as { message?: string }).message ?? data);
      });
      setError("The stream has ended");
    } catch (failure) {
      if (!controller.signal.aborted) setError(failure instanceof Error ? failure.message : String(failure));
    }
    setWatching(false);
  };
  if (!isPoint.value) return <p class="hint pad">Enter the id of a record above to watch it. Changes to the selected fields appear here.</p>;
  const status = !isWatching ? "not watching" : received ? `live, ${count(received.count, "state")}, last at ${received.time.toLocaleTimeString()}` : "connecting";
  return (
    <div class="watch column" data-testid="watch">
      <div class="watch-head row">
        <button type="button" class={isWatching ? "" : "primary"} disabled={!isQuery.value} onClick={() => (isWatching ? abort.current?.abort() : void start())}>
          {isWatching ? "Stop" : "Watch this record"}
        </button>
        <span class={isWatching ? "live on soft" : "live soft"} role="status">
          {status}
        </span>
      </div>
      {error && <p class="form-error bad pad">{error}</p>}
      {received && <Reader text={text} label="The current record" />}
    </div>
  );
}
