// The live view of a record over its event stream.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refused, watch } from "../../api/client";
import { Reader } from "../../editor/Reader";
import { layOut, parseJson } from "../../query/json";
import { current, isPoint, isQuery, query } from "../../state";

interface Seen {
  data: string;
  at: Date;
  count: number;
}

export function Watch() {
  const [following, setFollowing] = useState(false);
  const [seen, setSeen] = useState<Seen | null>(null);
  const [trouble, setTrouble] = useState("");
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const text = useMemo(() => {
    if (!seen) return "";
    try {
      return layOut(parseJson(seen.data), seen.data);
    } catch {
      return seen.data;
    }
  }, [seen]);
  const begin = (): void => {
    const entity = query.value?.entity;
    if (!entity) return;
    const mine = new AbortController();
    abort.current = mine;
    setFollowing(true);
    setTrouble("");
    setSeen(null);
    watch(current(), entity, mine.signal, ({ kind, data }) => {
      if (kind === "update") setSeen((before) => ({ data, at: new Date(), count: (before?.count ?? 0) + 1 }));
      else if (kind === "error") setTrouble((JSON.parse(data) as { message?: string }).message ?? data);
    })
      .then(() => setTrouble("The stream has ended"))
      .catch((error: unknown) => {
        if (!mine.signal.aborted) setTrouble(error instanceof Refused ? error.message : String(error));
      })
      .finally(() => setFollowing(false));
  };
  if (!isPoint.value) return <p class="hint pad">Enter the id of a record above to watch it. Changes to the selected fields appear here.</p>;
  return (
    <div class="watch" data-testid="watch">
      <div class="watch-head">
        <button type="button" class={following ? "" : "primary"} disabled={!isQuery.value} onClick={() => (following ? abort.current?.abort() : begin())}>
          {following ? "Stop" : "Watch this record"}
        </button>
        <span class={following ? "live on" : "live"} role="status">
          {following ? (seen ? `live, ${seen.count} ${seen.count === 1 ? "state" : "states"}, last at ${seen.at.toLocaleTimeString()}` : "connecting") : "not watching"}
        </span>
      </div>
      {trouble && <p class="form-error pad">{trouble}</p>}
      {seen && <Reader text={text} label="The current record" />}
    </div>
  );
}
