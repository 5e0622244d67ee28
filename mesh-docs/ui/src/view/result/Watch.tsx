// The live view of a record.

import { useMemo } from "preact/hooks";
import { Reader } from "../../editor/Reader";
import { count } from "../../format";
import { formatJson, parseJson } from "../../query/json";
import { current, isPoint, isQuery, query } from "../../state";
import { isWatching, received, startWatching, stopWatching, watched, watchError } from "../../watching";

export function Watch() {
  const last = received.value;
  const text = useMemo(() => {
    if (!last) return "";
    try {
      return formatJson(parseJson(last.data), last.data);
    } catch {
      return last.data;
    }
  }, [last]);
  const subject = watched.value;
  if (!isPoint.value && !subject) return <p class="hint pad">Enter the id of a record above to watch it. Changes to the selected fields appear here.</p>;
  const status = !isWatching.value ? "not watching" : last ? `live, ${count(last.count, "state")}, last at ${last.time.toLocaleTimeString()}` : "connecting";
  return (
    <div class="watch column" data-testid="watch">
      <div class="watch-head row wrap">
        {isWatching.value ? (
          <button type="button" onClick={stopWatching}>
            Stop
          </button>
        ) : (
          <StartButton label="Watch this record" />
        )}
        <span class={isWatching.value ? "live on soft" : "live soft"} role="status">
          {status}
        </span>
        {subject && (
          <code class="ellipsis" title={subject.request.query}>
            {subject.entity}/{subject.request.id}
          </code>
        )}
      </div>
      {isWatching.value && isOther() && (
        <p class="stale row wrap" role="status">
          <span class="grow">This is another record or query than the one in the editor.</span>
          {isPoint.value && <StartButton label="Watch the query in the editor" />}
        </p>
      )}
      {watchError.value && <p class="form-error bad pad">{watchError.value}</p>}
      {last && <Reader text={text} label="The current record" />}
    </div>
  );
}

function StartButton({ label }: { label: string }) {
  return (
    <button type="button" class="primary" disabled={!isQuery.value || !isPoint.value} onClick={() => void startWatching()}>
      {label}
    </button>
  );
}

/** Whether the editor has another query than the one that is watched. */
function isOther(): boolean {
  const [subject, now] = [watched.value, current()];
  return subject?.entity !== query.value?.entity || (["query", "id", "params"] as const).some((key) => subject?.request[key] !== now[key]);
}
