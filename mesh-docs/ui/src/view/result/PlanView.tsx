// The nodes of the plan as a tree, each with its fields.

import type { Meta, PlanJoin } from "../../api/client";

export function PlanView({ plan, isPoint }: { plan: Meta["plan"]; isPoint: boolean }) {
  const { entity, fields, joins } = plan;
  return (
    <div class="fill pad" data-testid="plan">
      <ul class="plan-tree">
        <PlanNode name={entity} entity={entity} kind={isPoint ? "one record" : "collection"} fields={fields} path={entity} joins={joins} />
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
}

function PlanNode({ name, entity, kind, fields, path, joins }: NodeProps) {
  const children = joins.filter((join) => join.path.slice(0, join.path.lastIndexOf(".")) === path);
  return (
    <li>
      <div class="plan-node wrap">
        <span class="plan-name">{name}</span>
        {name !== entity && <span class="plan-entity soft">{entity}</span>}
        <span class="hint">{kind}</span>
        <span class="plan-fields wrap">
          {fields.map((field) => (
            <code key={field}>{field}</code>
          ))}
        </span>
      </div>
      {children.length > 0 && (
        <ul>
          {children.map(({ type, ...join }) => (
            <PlanNode {...join} key={join.path} name={join.path.slice(path.length + 1)} kind={type === "many" ? "many, per parent" : "one, per parent"} joins={joins} />
          ))}
        </ul>
      )}
    </li>
  );
}
