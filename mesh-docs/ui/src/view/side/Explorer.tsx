// The schema tree: entities, their fields, and relations that expand in place.

import { useState } from "preact/hooks";
import { hasCredentials } from "../../api/session";
import { isSelected } from "../../query/edit";
import { nodeAt } from "../../query/tree";
import { entityOf, idFields, type Entity } from "../../schema";
import { dialog, query, schema, schemaError, startQuery, toggleField } from "../../state";
import { Chevron, Search } from "../parts/icons";

/** Schemas with at most this many entities are shown expanded. */
const EXPANDED_MAX = 2;

function matcher(wanted: string): ({ name }: { name: string }) => boolean {
  return ({ name }) => name.toLowerCase().includes(wanted);
}

export function Explorer() {
  const [typed, setTyped] = useState("");
  const known = schema.value;
  if (!known) return <Missing />;
  const wanted = typed.trim().toLowerCase();
  const matches = matcher(wanted);
  const shown = known.entities.filter((entity) => [entity, ...entity.fields, ...entity.joins].some(matches));
  return (
    <div class="explorer">
      <label class="search row">
        <Search />
        <span class="hidden">Search the schema</span>
        <input id="schema-search" type="search" placeholder="Search entities and fields" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
      <ul class="tree">
        {shown.map((entity) => (
          <EntityItem key={entity.name} entity={entity} wanted={wanted} />
        ))}
      </ul>
      {shown.length === 0 && <p class="hint">Nothing has “{typed}” in its name.</p>}
    </div>
  );
}

function Missing() {
  const error = schemaError.value;
  if (!error) return <p class="hint pad">Loading the schema…</p>;
  return (
    <div class="pad">
      <p class="form-error bad missing">{error.status === 401 ? "This playground requires a login with access to it." : error.message}</p>
      {error.status === 401 && hasCredentials && (
        <button type="button" class="primary" onClick={() => (dialog.value = "login")}>
          Log in
        </button>
      )}
    </div>
  );
}

function EntityItem({ entity, wanted }: { entity: Entity; wanted: string }) {
  const isRoot = query.value?.entity === entity.name;
  const isSmall = (schema.value?.entities.length ?? 0) <= EXPANDED_MAX;
  const [chosen, setOpen] = useState<boolean | null>(null);
  const isInside = wanted !== "" && !matcher(wanted)(entity);
  const isOpen = isInside || (chosen ?? (isRoot || isSmall));
  return (
    <li>
      <div class="entity item row">
        <button type="button" class="fold flat grow" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Chevron />
          <span class={isRoot ? "ellipsis strong act" : "ellipsis strong"}>{entity.name}</span>
          <span class="count">{entity.fields.length + entity.joins.length}</span>
        </button>
        <button type="button" class="quiet small start" onClick={() => startQuery(entity.name)} aria-label={`New query of ${entity.name}`}>
          Query
        </button>
      </div>
      {isOpen && entity.description && <p class="hint description">{entity.description}</p>}
      {isOpen && <Members root={entity.name} entity={entity} refs={[]} wanted={isInside ? wanted : ""} />}
    </li>
  );
}

function Members({ root, entity, refs, wanted }: { root: string; entity: Entity; refs: string[]; wanted: string }) {
  const matches = matcher(wanted);
  const node = query.value?.entity === root ? nodeAt(query.value, refs) : undefined;
  const aliases = node?.select.filter((one) => one.of !== undefined && matches(one)) ?? [];
  return (
    <ul>
      {entity.fields.filter(matches).map(({ name, kind, type, description }) => (
        <li key={name} class="member item row">
          <Tick root={root} refs={refs} name={name} />
          <span class="type ellipsis faint" title={description}>
            {idFields(entity).includes(name) && <span class="key">id</span>}
            {kind === "computed" ? "computed" : type}
          </span>
        </li>
      ))}
      {entity.joins.filter(matches).map((join) => (
        <RelationItem key={join.name} root={root} refs={refs} name={join.name} entity={join.entity} many={join.type === "many"} />
      ))}
      {aliases.map(({ name, of = "" }) => {
        const join = entity.joins.find((one) => one.name === of);
        if (join) return <RelationItem key={name} root={root} refs={refs} name={name} entity={of} target={join.entity} many={join.type === "many"} />;
        return (
          <li key={name} class="member item row">
            <Tick root={root} refs={refs} name={name} />
            <span class="type ellipsis faint">{of}</span>
          </li>
        );
      })}
    </ul>
  );
}

function Tick({ root, refs, name, isRelation = false }: { root: string; refs: string[]; name: string; isRelation?: boolean }) {
  const isChecked = (): boolean => isSelected(query.value, root, refs, name);
  const toggle = (box: HTMLInputElement): void => {
    toggleField(root, refs, name);
    // A refused change leaves the query as it is.
    box.checked = isChecked();
  };
  return (
    <label class="tick row">
      <input type="checkbox" data-path={[root, ...refs, name].join(".")} checked={isChecked()} onChange={(event) => toggle(event.currentTarget)} />
      <span class={isRelation ? "member-name ellipsis relate" : "member-name ellipsis"} title={name}>
        {name}
      </span>
    </label>
  );
}

interface RelationProps {
  root: string;
  refs: string[];
  name: string;
  /** What is shown beside the name: the entity, or the relation of an alias. */
  entity: string;
  target?: string;
  many: boolean;
}

function RelationItem({ root, refs, name, entity, target: of = entity, many }: RelationProps) {
  const [chosen, setOpen] = useState<boolean | null>(null);
  const path = [...refs, name];
  const isOpen = chosen ?? isSelected(query.value, root, refs, name);
  const target = schema.value ? entityOf(schema.value, of) : undefined;
  return (
    <li>
      <div class="member relation item row">
        <button type="button" class="fold flat square" aria-expanded={isOpen} aria-label={`Fields of ${[root, ...path].join(".")}`} onClick={() => setOpen(!isOpen)}>
          <Chevron />
        </button>
        <Tick root={root} refs={refs} name={name} isRelation />
        <span class="type ellipsis soft">
          {entity}
          {many && <span class="many faint">[ ]</span>}
        </span>
      </div>
      {isOpen && target && <Members root={root} entity={target} refs={path} wanted="" />}
    </li>
  );
}
