// The SQL statements of a result, with parameters, duration and rows.

import type { Statement } from "../../api/client";
import { lines, type SqlToken } from "../../sql";
import { run } from "../../state";
import { copyText } from "../parts/copy";
import { milliseconds } from "./format";
import { Copy } from "../parts/icons";

export function SqlView({ statements }: { statements: Statement[] | undefined }) {
  if (!statements || statements.length === 0) return <p class="hint pad">This read ran no SQL.</p>;
  const explained = statements.some((one) => one.queryPlan);
  const total = statements.reduce((sum, one) => sum + one.durationMs, 0);
  return (
    <div class="sql" data-testid="sql">
      <div class="sql-head">
        <span>
          {statements.length} {statements.length === 1 ? "statement" : "statements"}, {milliseconds(total)} in the database
        </span>
        <button type="button" class="small" data-testid="explain" disabled={explained} onClick={() => void run(true)}>
          {explained ? "Query plans below" : "Show the database's query plans"}
        </button>
      </div>
      <ol>
        {statements.map((one, index) => (
          <StatementItem key={index} statement={one} share={total > 0 ? one.durationMs / total : 0} />
        ))}
      </ol>
    </div>
  );
}

function StatementItem({ statement, share }: { statement: Statement; share: number }) {
  const { sql, params, durationMs, rows, runs = 1, path, queryPlan } = statement;
  return (
    <li class={runs === 0 ? "statement idle" : "statement"}>
      <div class="statement-head">
        <span class="statement-path">{path}</span>
        {runs === 0 ? (
          <span>no parent, not run</span>
        ) : (
          <>
            <span>{milliseconds(durationMs)}</span>
            <span>
              {rows} {rows === 1 ? "row" : "rows"}
            </span>
            {runs !== 1 && <span>{runs} runs</span>}
          </>
        )}
        <button type="button" class="quiet square" aria-label={`Copy the statement of ${path ?? "this read"}`} onClick={() => void copyText(sql, "Statement")}>
          <Copy />
        </button>
      </div>
      <meter class="share" min={0} max={1} value={share} aria-label="Share of the total time" />
      <pre class="sql-text">
        {lines(sql).map((line, index) => (
          <div key={index}>
            {line.map((token, at) => (
              <Token key={at} token={token} />
            ))}
          </div>
        ))}
      </pre>
      {params.length > 0 && runs > 0 && (
        <p class="params">
          {params.map((param, index) => (
            <span key={index} class="param">
              <span class="param-number">{index + 1}</span>
              <code>{JSON.stringify(param)}</code>
            </span>
          ))}
          {runs > 1 && <span class="param-note">of the first run</span>}
        </p>
      )}
      {queryPlan && queryPlan.length > 0 && (
        <ul class="query-plan" aria-label="The database's query plan">
          {queryPlan.map((step, index) => (
            <li key={index} class={/^SCAN\b/.test(step) && !/USING/.test(step) ? "scan" : ""}>
              {step}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function Token({ token }: { token: SqlToken }) {
  return token.kind === "space" || token.kind === "sign" ? <>{token.text}</> : <span class={`sql-${token.kind}`}>{token.text}</span>;
}
