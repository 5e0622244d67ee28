// The plan of a read as a tree: what each node reads, the statement for it with time and rows, and the indexes that it uses.

import { useMemo } from "preact/hooks";
import type { Meta, PlanJoin, Statement } from "../../api/client";
import { count, milliseconds } from "../../format";
import { stepsOf, type Step } from "../../plan/steps";
import { explain } from "../../run";
import { IconButton } from "../parts/controls";
import { copyText } from "../parts/copy";
import { Copy } from "../parts/icons";

export function PlanView({ meta, isPoint }: { meta: Meta; isPoint: boolean }) {
  const { entity, fields, joins } = meta.plan;
  const statements = meta.sql ?? [];
  const isExplained = statements.some(({ queryPlan }) => queryPlan);
  const total = statements.reduce((sum, { durationMs }) => sum + durationMs, 0);
  return (
    <div class="fill" data-testid="plan">
      {statements.length > 0 && (
        <div class="sql-head row wrap spread soft">
          <span>
            {count(statements.length, "statement")}, {milliseconds(total)} of {milliseconds(meta.durationMs)}
          </span>
          <button type="button" class="small" data-testid="explain-plan" disabled={isExplained} onClick={() => void explain()}>
            {isExplained ? "Indexes shown" : "Show the indexes"}
          </button>
        </div>
      )}
      <ul class="plan-tree pad">
        <PlanNode name={entity} entity={entity} kind={isPoint ? "one record" : "collection"} fields={fields} path={entity} joins={joins} statements={statements} total={total} />
      </ul>
    </div>
  );
}

interface NodeProps {
  name: string;
  entity: string;
  kind: string;
  fields: string[];
  path: string;
  joins: PlanJoin[];
  statements: Statement[];
  total: number;
}

function PlanNode({ name, entity, kind, fields, path, joins, statements, total }: NodeProps) {
  const children = joins.filter((join) => join.path.slice(0, join.path.lastIndexOf(".")) === path);
  const own = statements.filter((statement) => (statement.path ?? joins[0]?.path.split(".")[0] ?? entity) === path);
  return (
    <li>
      <div class="plan-node wrap">
        <span class="plan-name">{name}</span>
        {name !== entity && <span class="plan-entity soft">{entity}</span>}
        <span class="hint">{kind}</span>
        <span class="hint">{count(fields.length, "field")}</span>
        {statements.length > 0 && own.length === 0 && <span class="hint">read with its parent</span>}
      </div>
      {own.map((statement, index) => (
        <PlanStatement key={index} statement={statement} share={total > 0 ? statement.durationMs / total : 0} />
      ))}
      {children.length > 0 && (
        <ul>
          {children.map(({ type, ...join }) => (
            <PlanNode {...join} key={join.path} name={join.path.slice(path.length + 1)} kind={type === "many" ? "many, per parent" : "one, per parent"} joins={joins} statements={statements} total={total} />
          ))}
        </ul>
      )}
    </li>
  );
}

function PlanStatement({ statement, share }: { statement: Statement; share: number }) {
  const { durationMs, rows, runs = 1 } = statement;
  const steps = useMemo(() => stepsOf(statement), [statement]);
  if (runs === 0) return <p class="plan-statement hint">not run, because there is no parent</p>;
  return (
    <div class="plan-statement">
      <p class="plan-facts row wrap">
        <span class="strong">{milliseconds(durationMs)}</span>
        <span>{count(rows, "row")}</span>
        {runs > 1 && <span>{runs} runs</span>}
        <meter class="share" min={0} max={1} value={share} aria-label="Share of the total time" />
      </p>
      {steps.length > 0 && (
        <ul class="plan-steps" aria-label="Steps of the database">
          {steps.map((step, index) => (
            <PlanStep key={index} step={step} isAdvised={steps.slice(0, index).some(({ advice }) => advice === step.advice)} />
          ))}
        </ul>
      )}
    </div>
  );
}

/** Returns a step in words. */
function words({ kind, table, index, text }: Step): string {
  if (kind === "index") return `${table ?? ""} by ${index ?? ""}`.trim();
  if (kind === "scan") return `${table ?? "an intermediate result"}: all rows`;
  // The estimates of PostgreSQL are in the tooltip.
  return kind === "sort" ? "sorted after reading" : text.replace(/^-> */, "").replace(/ *\(cost=.*\)$/, "");
}

/** `isAdvised` says that a step before this one has the same advice. */
function PlanStep({ step, isAdvised }: { step: Step; isAdvised: boolean }) {
  const { advice } = step;
  return (
    <li class={advice === undefined ? `step-${step.kind}` : "step-problem"} title={step.text} style={{ marginInlineStart: `${step.indent / 2}ch` }}>
      <span>{words(step)}</span>
      {advice !== undefined && !isAdvised && (
        <p class="advice row wrap">
          <span class="bad strong">An index would help:</span>
          <code>{advice}</code>
          <IconButton label="Copy the index" act={() => void copyText(advice, "Index")}>
            <Copy />
          </IconButton>
        </p>
      )}
    </li>
  );
}
