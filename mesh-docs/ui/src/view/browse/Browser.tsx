// The data browser: the rows of an entity, their relations, and the query behind them.

import { Combobox } from "../parts/Combobox";
import { creating, failure, browse, isLoading, load, record, view, type NewRecord } from "../../browse/state";
import { entityOf, type Schema } from "../../schema";
import type { RequestError } from "../../api/client";
import { schema } from "../../state";
import { Refusal } from "../result/Refusal";
import { Missing } from "../side/Missing";
import { ColumnChooser } from "./ColumnChooser";
import { Downloads } from "./Downloads";
import { Filters } from "./Filters";
import { Pager } from "./Pager";
import { QueryLine } from "./QueryLine";
import { RecordPanel } from "./RecordPanel";
import { Rows } from "./Rows";
import { hasBatch, stagesLinks } from "../../write/staged";
import { CreateMany } from "../write/CreateMany";
import { CreateRecord } from "../write/CreateRecord";
import { StagedBar } from "../write/Staged";
import { Plus } from "../parts/icons";

export function Browser() {
  const known = schema.value;
  if (!known) return <Missing />;
  const shown = view.value;
  const canCreate = shown && (entityOf(known, shown.entity)?.writes?.create.length ?? 0) > 0;
  return (
    <section class="browser column" aria-label="Data">
      <div class="browse-head row wrap" role="toolbar" aria-label="Data tools">
        <span class="path row">
          <Combobox label="Entity to browse" testId="browse-entity" placeholder="entity" value={shown?.entity ?? ""} options={known.entities.map(({ name }) => name)} choose={browse} />
        </span>
        {shown && <Pager />}
        {shown && (
          <span class="browse-tools row">
            {canCreate && (
              <button type="button" class="quiet" data-testid="new-record" onClick={() => (creating.value = { entity: shown.entity })}>
                <Plus /> New
              </button>
            )}
            {canCreate && (
              <button type="button" class="quiet" data-testid="new-rows" title="Create several records from CSV or JSON" onClick={() => (creating.value = { entity: shown.entity, many: true })}>
                Paste rows
              </button>
            )}
            {hasBatch() && hasLinks(known, shown.entity) && (
              <button type="button" class="quiet" aria-pressed={stagesLinks.value} data-testid="stage-links" title="Send links later, together with other changes" onClick={() => (stagesLinks.value = !stagesLinks.value)}>
                Stage links
              </button>
            )}
            <ColumnChooser />
            <Downloads />
          </span>
        )}
      </div>
      {shown && <Filters />}
      <div class={isLoading.value ? "progress on" : "progress"} />
      {shown ? (
        <div class="browse-body">
          <div class="browse-rows column">{failure.value ? <Unread error={failure.value} /> : <Rows />}</div>
          {creating.value ? <Creation key={JSON.stringify(creating.value)} next={creating.value} /> : record.value && <RecordPanel key={`${record.value.entity}/${record.value.id}`} shown={record.value} />}
        </div>
      ) : (
        <Entities />
      )}
      <StagedBar />
      {shown && <QueryLine />}
    </section>
  );
}

/** That the rows could not be read. */
function Unread({ error }: { error: RequestError }) {
  return (
    <div class="fill">
      <Refusal error={error} />
      <p class="pad">
        <button type="button" data-testid="read-again" onClick={() => void load()}>
          Try again
        </button>
      </p>
    </div>
  );
}

/** Whether records of an entity can be linked to others. */
function hasLinks(known: Schema, entity: string): boolean {
  return entityOf(known, entity)?.joins.some(({ writes }) => writes?.includes("set") || writes?.includes("link")) ?? false;
}

function Creation({ next }: { next: NewRecord }) {
  return next.many ? <CreateMany entity={next.entity} /> : <CreateRecord next={next} />;
}

/** The entities to choose from. */
function Entities() {
  return (
    <div class="fill pad">
      <p class="hint">Choose an entity to see its rows.</p>
      <ul class="entity-cards wrap">
        {schema.value?.entities.map(({ name, fields, joins, description }) => (
          <li key={name}>
            <button type="button" class="entity-card" title={description ?? name} onClick={() => browse(name)}>
              <span class="strong ellipsis">{name}</span>
              <span class="hint">
                {fields.length} fields, {joins.length} relations
              </span>
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
