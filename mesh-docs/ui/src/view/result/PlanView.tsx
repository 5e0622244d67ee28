// The nodes of the plan as a tree, each with its fields.

import type { Meta, PlanJoin } from "../../api/client";

export function PlanView({ meta, isPoint }: { meta: Meta; isPoint: boolean }) {
  const { plan } = meta;
  return (
    <div class="plan" data-testid="plan">
      <ul class="plan-tree">
        <PlanNode name={plan.entity} entity={plan.entity} kind={isPoint ? "one record" : "collection"} fields={plan.fields} path={plan.entity} joins={plan.joins} />
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
  const below = joins.filter((join) => join.path.slice(0, join.path.lastIndexOf(".")) === path);
  return (
    <li>
      <div class="plan-node">
        <span class="plan-name">{name}</span>
        {name !== entity && <span class="plan-entity">{entity}</span>}
        <span class="plan-kind">{kind}</span>
        <span class="plan-fields">
          {fields.map((field) => (
            <code key={field}>{field}</code>
          ))}
        </span>
      </div>
      {below.length > 0 && (
        <ul>
          {below.map((join) => (
            <PlanNode key={join.path} name={join.path.slice(path.length + 1)} entity={join.entity} kind={join.type === "many" ? "many, per parent" : "one, per parent"} fields={join.fields} path={join.path} joins={joins} />
          ))}
        </ul>
      )}
    </li>
  );
}
