// The result pane: the data in several views, and its duration.

import { useMemo } from "preact/hooks";
import { config } from "../../config";
import { Reader } from "../../editor/Reader";
import { layOut, member } from "../../query/json";
import { cursors, isPoint, nextCursor, nextPage, outcome, previousPage, resultTab, run, running, type ResultTab } from "../../state";
import type { Answer, Refused } from "../../api/client";
import { copyText } from "../parts/copy";
import { milliseconds, size } from "./format";
import { Copy, Play } from "../parts/icons";
import { PlanView } from "./PlanView";
import { SqlView } from "./SqlView";
import { asText, TableView } from "./TableView";
import { Tabs } from "../parts/Tabs";
import { Watch } from "./Watch";

export function Results() {
  const came = outcome.value;
  const answer = came?.kind === "answer" ? came.answer : undefined;
  const list = answer ? member(answer.data, "items") : undefined;
  const statements = answer?.meta.sql?.length;
  const tabs: { id: ResultTab; label: string; note?: string }[] = [
    { id: "json", label: "JSON" },
    { id: "table", label: "Table" },
    { id: "plan", label: "Plan" },
    ...(config.sql ? [{ id: "sql" as const, label: "SQL", ...(statements ? { note: String(statements) } : {}) }] : []),
    ...(config.events ? [{ id: "watch" as const, label: "Watch" }] : []),
  ];
  const chosen = resultTab.value;
  return (
    <>
      <div class="result-head">
        <Tabs label="Result" tabs={tabs} chosen={chosen} choose={(id) => (resultTab.value = id)} panel="result-panel" />
        {answer && (chosen === "json" || (chosen === "table" && list)) && (
          <button type="button" class="quiet square" aria-label="Copy the result" title="Copy the result" onClick={() => void copyText(chosen === "table" && list ? asText(list, answer.source) : layOut(answer.data, answer.source), "Result")}>
            <Copy />
          </button>
        )}
      </div>
      <div class={running.value ? "progress on" : "progress"} />
      <div class="result-panel" id="result-panel" role="tabpanel" aria-labelledby={`result-panel-${chosen}`} tabIndex={-1}>
        {chosen === "watch" ? (
          <Watch />
        ) : came?.kind === "refused" ? (
          <Refusal refused={came.refused} />
        ) : !answer || came?.kind !== "answer" ? (
          <Empty />
        ) : chosen === "json" ? (
          <JsonView answer={answer} />
        ) : chosen === "table" ? (
          list ? (
            <TableView list={list} source={answer.source} />
          ) : (
            <p class="hint pad">One record has no table. Clear the id to read the collection.</p>
          )
        ) : chosen === "plan" ? (
          <PlanView meta={answer.meta} isPoint={came.asked.id !== ""} />
        ) : (
          <SqlView statements={answer.meta.sql} />
        )}
      </div>
      <Status answer={answer} paged={list !== undefined} />
    </>
  );
}

function JsonView({ answer }: { answer: Answer }) {
  const text = useMemo(() => layOut(answer.data, answer.source), [answer]);
  return <Reader text={text} label="Result" />;
}

function Empty() {
  return (
    <div class="empty">
      <p>Run the query to see what it reads{isPoint.value ? " of this record" : ""}.</p>
      <button type="button" onClick={() => void run()}>
        <Play /> Run
        <kbd>Ctrl Enter</kbd>
      </button>
    </div>
  );
}

function Refusal({ refused }: { refused: Refused }) {
  const { code, path, line, column, requestId } = refused.details;
  const facts: [string, string | undefined][] = [
    ["Code", code],
    ["In", path],
    ["At", line !== undefined ? `line ${line}, column ${column}` : undefined],
    ["Request", requestId],
  ];
  return (
    <div class="refusal" role="alert" data-testid="refusal">
      <p class="refusal-kind">
        {refused.status > 0 && <span class="status-code">{refused.status}</span>}
        {refused.kind}
      </p>
      <p class="refusal-words">{refused.message}</p>
      <dl>
        {facts
          .filter(([, value]) => value !== undefined)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </div>
  );
}

function Status({ answer, paged }: { answer: Answer | undefined; paged: boolean }) {
  if (!answer) return <footer class="status" data-testid="status" />;
  const { durationMs, rows } = answer.meta;
  return (
    <footer class="status" data-testid="status">
      <span class="ok">200</span>
      <span title="Time in the server">{milliseconds(durationMs)}</span>
      <span class="in-all" title="Time including the network">{milliseconds(answer.elapsedMs)} in all</span>
      <span>
        {rows} {rows === 1 ? "object" : "objects"}
      </span>
      <span>{size(answer.size)}</span>
      {paged && (
        <span class="pager">
          <button type="button" class="small" disabled={cursors.value.length < 2} onClick={() => void previousPage()}>
            Previous
          </button>
          <span>page {cursors.value.length}</span>
          <button type="button" class="small" data-testid="next-page" disabled={!nextCursor.value} onClick={() => void nextPage()}>
            Next page
          </button>
        </span>
      )}
    </footer>
  );
}
