// The SQL statements of a result, with parameters, duration and rows.

import { useMemo } from "preact/hooks";
import type { Statement } from "../../api/client";
import { stepsOf } from "../../plan/steps";
import { lines } from "../../sql";
import { explain } from "../../run";
import { IconButton } from "../parts/controls";
import { copyText } from "../parts/copy";
import { Copy } from "../parts/icons";
import { count, milliseconds } from "../../format";

export function SqlView({ statements }: { statements: Statement[] | undefined }) {
  if (!statements || statements.length === 0) return <p class="hint pad">This read ran no SQL.</p>;
  const isExplained = statements.some(({ queryPlan }) => queryPlan);
  const total = statements.reduce((sum, { durationMs }) => sum + durationMs, 0);
  return (
    <div class="fill" data-testid="sql">
      <div class="sql-head row wrap spread soft">
        <span>
          {count(statements.length, "statement")}, {milliseconds(total)} in the database
        </span>
        <button type="button" class="small" data-testid="explain" disabled={isExplained} onClick={() => void explain()}>
          {isExplained ? "Query plans below" : "Show the database's query plans"}
        </button>
      </div>
      <ol>
        {statements.map((statement, index) => (
          <StatementItem key={index} statement={statement} share={total > 0 ? statement.durationMs / total : 0} />
        ))}
      </ol>
    </div>
  );
}

function StatementItem({ statement, share }: { statement: Statement; share: number }) {
  const { sql, params, durationMs, rows, runs = 1, path, queryPlan = [] } = statement;
  const steps = useMemo(() => stepsOf(statement), [statement]);
  const facts = runs === 0 ? ["no parent, not run"] : [milliseconds(durationMs), count(rows, "row"), ...(runs > 1 ? [`${runs} runs`] : [])];
  return (
    <li class="statement">
      <div class="statement-head row wrap soft">
        <span class="statement-path relate">{path}</span>
        {facts.map((fact) => (
          <span key={fact}>{fact}</span>
        ))}
        <IconButton label={`Copy the statement of ${path ?? "this read"}`} act={() => void copyText(sql, "Statement")}>
          <Copy />
        </IconButton>
      </div>
      <meter class="share" min={0} max={1} value={share} aria-label="Share of the total time" />
      <pre class="sql-text">
        {lines(sql).map((line, index) => (
          <div key={index}>{line.map(({ kind, text }) => (kind === "space" || kind === "sign" ? text : <span class={`sql-${kind}`}>{text}</span>))}</div>
        ))}
      </pre>
      {params.length > 0 && runs > 0 && (
        <p class="params wrap">
          {params.map((param, index) => (
            <span key={index} class="param">
              <span class="param-number relate">{index + 1}</span>
              <code class="ellipsis">{JSON.stringify(param)}</code>
            </span>
          ))}
          {runs > 1 && <span class="param-note faint">of the first run</span>}
        </p>
      )}
      {queryPlan.length > 0 && (
        <ul class="query-plan" aria-label="The database's query plan">
          {queryPlan.map((step, index) => (
            <li key={index} class={steps[index]?.advice === undefined ? "" : "bad"}>
              {step}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
