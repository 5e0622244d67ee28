// The result pane: the data in several views, and its duration.

import { useMemo } from "preact/hooks";
import type { Answer } from "../../api/client";
import { viewAs } from "../../api/viewAs";
import { config } from "../../config";
import { Reader } from "../../editor/Reader";
import { count, milliseconds, size } from "../../format";
import { formatJson, member, type Json } from "../../query/json";
import { keyNames, readGrouping } from "../../query/group";
import { readQuery } from "../../query/read";
import { emptyNode } from "../../query/tree";
import { keyName } from "../../keys";
import { cursors, explain, fromEnd, isStale, nextCursor, nextPage, outcome, pageInfo, previousPage, resultTab, run, running, type ResultTab } from "../../run";
import { isPoint, open } from "../../state";
import type { SavedQuery } from "../../storage";
import { asText } from "../../table/columns";
import { IconButton } from "../parts/controls";
import { copyText } from "../parts/copy";
import { Copy, Play } from "../parts/icons";
import { Tabs } from "../parts/Tabs";
import { later } from "../parts/later";
import { PlanView } from "./PlanView";
import { RequestView } from "./RequestView";
import { SqlView } from "./SqlView";
import { Refusal } from "./Refusal";
import { originOf, TableView } from "./TableView";
import { Watch } from "./Watch";

const Chart = later(async () => (await import("../pictures")).Chart);

/** Whether a result has groups with aggregates, which a chart can show. */
function hasGroups({ format, query }: SavedQuery): boolean {
  const tree = readQuery(format, query);
  const grouping = readGrouping(tree?.root ?? emptyNode());
  return keyNames(grouping).length > 0 && grouping.aggregates.length > 0;
}

export function Results() {
  const shown = outcome.value;
  const answer = shown?.kind === "answer" ? shown.answer : undefined;
  const list = answer && member(answer.data, "items");
  const isGrouped = list !== undefined && shown !== null && hasGroups(shown.request);
  const statements = answer?.meta?.sql?.length;
  const tabs: { id: ResultTab; label: string; note?: string }[] = [
    { id: "json", label: "JSON" },
    { id: "table", label: "Table" },
    ...(isGrouped ? [{ id: "chart" as const, label: "Chart" }] : []),
    { id: "plan", label: "Plan" },
    ...(config.sql ? [{ id: "sql" as const, label: "SQL", ...(statements ? { note: String(statements) } : {}) }] : []),
    // The routes of these read as the caller itself.
    ...(viewAs.value ? [] : [{ id: "request" as const, label: "Request" }]),
    ...(config.events && !viewAs.value ? [{ id: "watch" as const, label: "Watch" }] : []),
  ];
  // The next result may have no groups.
  const wanted = resultTab.value === "chart" && !isGrouped ? "table" : resultTab.value;
  const chosen = tabs.some(({ id }) => id === wanted) ? wanted : "json";
  const table = chosen === "table" ? list : undefined;
  return (
    <>
      <div class="result-head row">
        <Tabs label="Result" tabs={tabs} chosen={chosen} choose={(id) => (resultTab.value = id)} panel="result-panel" />
        {shown && answer && (chosen === "json" || table) && (
          <IconButton
            label="Copy the result"
            title="Copy the result"
            act={() => void copyText(table ? asText(table, answer.source, originOf(shown.request)) : formatJson(answer.data, answer.source), "Result")}
          >
            <Copy />
          </IconButton>
        )}
      </div>
      <div class={running.value ? "progress on" : "progress"} />
      {isStale.value && chosen !== "watch" && chosen !== "request" && <Stale />}
      <div class="result-panel column" id="result-panel" role="tabpanel" aria-labelledby={`result-panel-${chosen}`} tabIndex={-1}>
        <View tab={chosen} list={list} />
      </div>
      {/* What is watched has a status of its own. */}
      {chosen !== "watch" && <Status paged={list !== undefined} />}
    </>
  );
}

function View({ tab, list }: { tab: ResultTab; list: Json | undefined }) {
  if (tab === "watch") return <Watch />;
  if (tab === "request") return <RequestView />;
  if (!outcome.value) return <Empty />;
  if (outcome.value.kind === "error") return <Refusal error={outcome.value.error} />;
  const { answer, request } = outcome.value;
  switch (tab) {
    case "json":
      return <JsonView answer={answer} />;
    case "table":
      return list ? <TableView list={list} source={answer.source} request={request} /> : <p class="hint pad">A single record has no table. Clear the id to read the collection.</p>;
    case "chart":
      return list ? <Chart list={list} source={answer.source} request={request} /> : null;
    case "plan":
      return answer.meta ? <PlanView meta={answer.meta} isPoint={request.id !== ""} /> : <WithoutMeta />;
    case "sql":
      return answer.meta ? <SqlView statements={answer.meta.sql} /> : <WithoutMeta />;
  }
}

/** In place of the plan of a read that was run with other tabs. */
function WithoutMeta() {
  return (
    <div class="empty soft">
      <p>This was read as one with other tabs, without a plan.</p>
      <button type="button" onClick={() => void explain()}>
        <Play /> Run it alone
      </button>
    </div>
  );
}

/** That the result belongs to another query than the one in the editor. */
function Stale() {
  return (
    <p class="stale row wrap" role="status" data-testid="stale">
      <span class="grow">This belongs to another query than the one in the editor.</span>
      <button type="button" class="small" onClick={() => outcome.value && open(outcome.value.request)}>
        Open its query
      </button>
      <button type="button" class="small" onClick={() => void run()}>
        Run the editor's
      </button>
    </p>
  );
}

function JsonView({ answer }: { answer: Answer }) {
  const text = useMemo(() => formatJson(answer.data, answer.source), [answer]);
  return <Reader text={text} label="Result" />;
}

function Empty() {
  return (
    <div class="empty soft">
      <p>Run the query to see what it reads{isPoint.value ? " of this record" : ""}.</p>
      <button type="button" onClick={() => void run()}>
        <Play /> Run
        <kbd>{keyName("Ctrl Enter")}</kbd>
      </button>
    </div>
  );
}

function Status({ paged }: { paged: boolean }) {
  const shown = outcome.value;
  const answer = shown?.kind === "answer" ? shown.answer : undefined;
  const error = shown?.kind === "error" ? shown.error : undefined;
  return (
    <footer class={isStale.value ? "status stale-status row wrap soft" : "status row wrap soft"} data-testid="status">
      {error && <span class="bad strong">{error.status > 0 ? error.status : "No reply"}</span>}
      {answer && (
        <>
          <span class="act strong">{answer.status}</span>
          {answer.meta && <span title="Time in the server">{milliseconds(answer.meta.durationMs)}</span>}
          <span class="total-time" title="Time including the network">{milliseconds(answer.elapsedMs)} in all</span>
          <span>{answer.meta ? count(answer.meta.rows, "object") : "as one with other tabs"}</span>
          <span>{size(answer.size)}</span>
        </>
      )}
      {answer && paged && <Pager />}
    </footer>
  );
}

/** The buttons for the pages before and after the shown one. Pages that are read from the end are followed backward. */
function Pager() {
  const { totalCount } = pageInfo.value;
  const further = { disabled: !nextCursor.value, onClick: () => void nextPage() };
  const back = { disabled: cursors.value.length < 2, onClick: () => void previousPage() };
  const [before, after] = fromEnd.value ? [further, back] : [back, further];
  return (
    <span class="pager inline">
      {totalCount !== undefined && <span data-testid="total-count">{totalCount} in total</span>}
      <button type="button" class="small" data-testid="previous-page" {...before}>
        Previous
      </button>
      <span>
        page {cursors.value.length}
        {fromEnd.value && " from the end"}
      </span>
      <button type="button" class="small" data-testid="next-page" {...after}>
        Next page
      </button>
    </span>
  );
}
