// The panel for one record: all of its fields, and its relations.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { execute, type Answer } from "../../api/client";
import { labelOf } from "../../browse/columns";
import { browse, closeRecord, creating, editing, openInEditor, openRecord, type RecordRef } from "../../browse/state";
import { idOf, recordQuery } from "../../browse/view";
import { formatJson, member, type Json } from "../../query/json";
import { printQuery } from "../../query/print";
import { plain } from "../../query/read";
import { entityOf, fieldTitle, idFields, type Entity, type Relation } from "../../schema";
import { schema } from "../../state";
import { describeBinary } from "../../table/binary";
import { cellText } from "../../table/cell";
import { IconButton } from "../parts/controls";
import { refocus } from "../parts/focus";
import { Close } from "../parts/icons";
import { writes } from "../../write/state";
import { DropZone } from "../write/DropZone";
import { DeleteRecord, EditRecord } from "../write/EditRecord";
import { link, unlink } from "../write/links";
import { RecordSearch } from "../write/RecordSearch";
import { RelatedList } from "./RelatedRows";

export function RecordPanel({ shown }: { shown: RecordRef }) {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState("");
  const [isDeleting, setDeleting] = useState(false);
  const panel = useRef<HTMLElement>(null);
  const known = schema.value;
  const entity = known ? entityOf(known, shown.entity) : undefined;
  const query = useMemo(() => (known && entity ? printQuery("json", recordQuery(known, entity)) : ""), [known, entity]);
  useEffect(() => {
    const controller = new AbortController();
    execute({ query, format: "json", id: shown.id }, false, controller.signal)
      .then((read) => {
        if (controller.signal.aborted) return;
        setAnswer(read);
        setError("");
      })
      .catch((failure: Error) => !controller.signal.aborted && setError(failure.message));
    return () => controller.abort();
  }, [query, writes.value]);
  const focusOn = (selector: string): void => refocus(() => panel.current?.querySelector<HTMLElement>(selector));
  // A form or question that had the focus is gone.
  useEffect(() => focusOn(".detail-head button"), [editing.value]);
  useEffect(() => focusOn("[data-testid=delete-record]"), [isDeleting]);
  const rights = entity?.writes;
  const leave = (): void => {
    closeRecord();
    document.querySelector<HTMLElement>(".browse-rows [role='grid']")?.focus();
  };
  const only = (): void => {
    const [name] = idFields(entity);
    const json = answer && name !== undefined ? member(answer.data, name) : undefined;
    if (entity && name !== undefined && json) browse(entity.name, [{ kind: "condition", field: name, op: "eq", value: plain(json) }]);
  };
  return (
    <section
      ref={panel}
      class="record column"
      aria-label={`${shown.entity} ${shown.id}`}
      data-testid="record"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        if (editing.value !== null) editing.value = null;
        else if (isDeleting) setDeleting(false);
        else leave();
      }}
    >
      <header class="detail-head row">
        <h2 class="grow ellipsis" title={`${shown.entity} ${shown.id}`}>
          {shown.entity} <span class="act">{shown.id}</span>
        </h2>
        {rights && rights.update.length > 0 && (
          <button type="button" class="small" data-testid="edit-record" disabled={editing.value !== null} onClick={() => (editing.value = "")}>
            Edit
          </button>
        )}
        {rights?.delete && (
          <button type="button" class="small" data-testid="delete-record" disabled={isDeleting} onClick={() => setDeleting(true)}>
            Delete
          </button>
        )}
        <button type="button" class="quiet small" onClick={() => openInEditor(query, shown.id)}>
          Open in the editor
        </button>
        {idFields(entity).length === 1 && (
          <button type="button" class="quiet small" onClick={only}>
            In the table
          </button>
        )}
        <IconButton label="Close" title="Close (Escape)" act={leave}>
          <Close />
        </IconButton>
      </header>
      {error && <p class="form-error bad pad">{error}</p>}
      {entity && isDeleting && <DeleteRecord entity={entity} id={shown.id} cancel={() => setDeleting(false)} />}
      {!answer && !error && <p class="hint pad">Reading…</p>}
      {entity && editing.value !== null && <EditRecord key={editing.value} entity={entity} id={shown.id} first={editing.value} />}
      {answer && entity && editing.value === null && (answer.data.kind === "object" ? <Members entity={entity} id={shown.id} data={answer.data} source={answer.source} /> : <p class="hint pad">There is no such record.</p>)}
    </section>
  );
}

function Members({ entity, id, data, source }: { entity: Entity; id: string; data: Json; source: string }) {
  const parent = { entity: entity.name, id };
  const ones = entity.joins.filter(({ type }) => type === "one");
  const manies = entity.joins.filter(({ type }) => type === "many");
  return (
    <div class="fill" tabIndex={0} role="region" aria-label="Fields and relations">
      <dl class="record-fields">
        {entity.fields.map((field) => (
          <div key={field.name} title={fieldTitle(field)}>
            <dt class="ellipsis">{field.name}</dt>
            <dd>
              <FieldValue json={member(data, field.name)} type={field.type} source={source} />
              {entity.uploads?.map((accepts) => accepts.field === field.name && <DropZone key={field.name} entity={entity.name} id={id} accepts={accepts} />)}
            </dd>
          </div>
        ))}
        {ones.map((relation) => (
          <div key={relation.name}>
            <dt class="relate ellipsis">{relation.name}</dt>
            <dd>
              <Related relation={relation} target={member(data, relation.name)} source={source} />
              {relation.writes?.includes("set") && (
                <span class="link-tools row">
                  <LinkSearch relation={relation} choose={(target) => link(parent, relation, target)} />
                  {member(data, relation.name)?.kind === "object" && (
                    <button type="button" class="quiet small" aria-label={`Unlink ${relation.name}`} onClick={() => unlink(parent, relation)}>
                      Unlink
                    </button>
                  )}
                </span>
              )}
            </dd>
          </div>
        ))}
      </dl>
      {manies.map((relation) => {
        const list = member(data, relation.name);
        if (!list) return null;
        return (
          <section key={relation.name} class="record-many column" aria-label={relation.name}>
            <header class="row">
              <h2 class="relate grow ellipsis">{relation.name}</h2>
              {relation.writes?.includes("link") && <LinkSearch relation={relation} choose={(target) => link(parent, relation, target)} />}
              {relation.writes?.includes("create") && (
                <button type="button" class="quiet small" onClick={() => (creating.value = { entity: relation.entity, parent: { ...parent, relation: relation.name } })}>
                  New
                </button>
              )}
            </header>
            <RelatedList list={list} source={source} relation={relation} {...(relation.writes?.includes("link") && { unlink: (child: string) => unlink(parent, relation, child) })} />
          </section>
        );
      })}
    </div>
  );
}

/** The search of a record to link. */
function LinkSearch({ relation, choose }: { relation: Relation; choose: (id: string) => void }) {
  const target = schema.value && entityOf(schema.value, relation.entity);
  return target ? <RecordSearch entity={target} label={`Link ${relation.name}`} choose={choose} /> : null;
}

function FieldValue({ json, type, source }: { json: Json | undefined; type: string | undefined; source: string }) {
  if (json?.kind === "string" && type === "binary") {
    const { label, image } = describeBinary(json.value);
    return (
      <>
        <span class="soft">{label}</span>
        {image && <img class="preview" src={`data:${image};base64,${json.value}`} alt={label} />}
      </>
    );
  }
  if (json?.kind === "array" || json?.kind === "object") return <pre class="record-text">{formatJson(json, source, 40)}</pre>;
  if (json?.kind === "string") return <span class="record-text">{json.value}</span>;
  const { text, kind } = cellText(json, type, source);
  return <span class={`value-${kind}`}>{text}</span>;
}

/** A link to a related record. */
function Related({ relation, target, source }: { relation: Relation; target: Json | undefined; source: string }) {
  const known = schema.value;
  const id = known ? idOf(entityOf(known, relation.entity), target) : undefined;
  if (!known || id === undefined) return <span class="value-null">null</span>;
  return (
    <button type="button" class="cell-link" onClick={() => openRecord({ entity: relation.entity, id })}>
      {cellText(member(target, labelOf(known, relation)), undefined, source).text || id}
      <span class="faint"> {relation.entity} {id}</span>
    </button>
  );
}
