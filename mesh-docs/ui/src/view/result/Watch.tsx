// The live view of a record or list, with a log of what changed.

import { useMemo } from "preact/hooks";
import { Reader } from "../../editor/Reader";
import { count } from "../../format";
import { formatJson } from "../../query/json";
import { current, isPoint, isQuery, query } from "../../state";
import type { Change } from "../../watch/changes";
import { isWatching, log, received, startWatching, stopWatching, watched, watchError } from "../../watching";

export function Watch() {
  const last = received.value;
  const text = useMemo(() => (last ? formatJson(last.state.data, last.state.source) : ""), [last]);
  const subject = watched.value;
  const status = !isWatching.value ? "not watching" : last ? `live, ${count(last.count, "state")}, last at ${last.time.toLocaleTimeString()}` : "connecting";
  return (
    <div class="watch column" data-testid="watch">
      <div class="watch-head row wrap">
        {isWatching.value ? (
          <button type="button" onClick={stopWatching}>
            Stop
          </button>
        ) : (
          <StartButton label={isPoint.value ? "Watch this record" : "Watch this list"} />
        )}
        <span class={isWatching.value ? "live on soft" : "live soft"} role="status">
          {status}
        </span>
        {subject && (
          <code class="ellipsis" title={subject.request.query}>
            {[subject.entity, subject.request.id].filter(Boolean).join("/")}
          </code>
        )}
      </div>
      {isWatching.value && isOther() && (
        <p class="stale row wrap" role="status">
          <span class="grow">This is another record or query than the one in the editor.</span>
          <StartButton label="Watch the query in the editor" />
        </p>
      )}
      {watchError.value && <p class="form-error bad pad">{watchError.value}</p>}
      {!subject && <p class="hint pad">Changes to what the query selects appear here.</p>}
      {log.value.length > 0 && <Log />}
      {last && <Reader text={text} label="The current state" />}
    </div>
  );
}

/** The most changes of an entry that are shown. */
const CHANGES_MAX = 20;

function Log() {
  return (
    <div class="watch-log" role="log" aria-label="Changes" tabIndex={0} data-testid="watch-log">
      <ol>
        {log.value.map(({ time, changes }) => (
          <li key={time.getTime()} class="row">
            <time class="faint" dateTime={time.toISOString()}>
              {time.toLocaleTimeString()}
            </time>
            <ul>
              {changes.slice(0, CHANGES_MAX).map((change) => (
                <li key={`${change.kind} ${change.path.join(".")}`}>
                  <ChangeLine change={change} />
                </li>
              ))}
              {changes.length > CHANGES_MAX && <li class="hint">and {changes.length - CHANGES_MAX} more</li>}
            </ul>
          </li>
        ))}
      </ol>
    </div>
  );
}

function ChangeLine({ change: { kind, path, from, to } }: { change: Change }) {
  const name = path.join(" › ") || "record";
  if (kind !== "changed") return <span class={kind === "added" ? "act" : "bad"}>{`${name} ${kind}`}</span>;
  return (
    <>
      {name}: <del>{from === "" ? "missing" : from}</del> → <ins>{to === "" ? "missing" : to}</ins>
    </>
  );
}

function StartButton({ label }: { label: string }) {
  return (
    <button type="button" class="primary" disabled={!isQuery.value} onClick={() => void startWatching()}>
      {label}
    </button>
  );
}

/** Whether the editor has another query than the one that is watched. */
function isOther(): boolean {
  const [subject, now] = [watched.value, current()];
  return subject?.entity !== query.value?.entity || (["query", "id", "params"] as const).some((key) => subject?.request[key] !== now[key]);
}
