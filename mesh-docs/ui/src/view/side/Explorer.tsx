// The schema tree: entities, their fields, and relations that expand in place.

import { useState } from "preact/hooks";
import { isSelected } from "../../query/edit";
import { config } from "../../config";
import { entityOf, type Entity } from "../../schema";
import { dialog, query, schema, schemaError, startQuery, toggleField } from "../../state";
import { Chevron, Search } from "../parts/icons";

const OPEN_AT_ONCE = 2;

export function Explorer() {
  const [typed, setTyped] = useState("");
  const found = schema.value;
  if (!found) return <Missing />;
  const wanted = typed.trim().toLowerCase();
  const matches = (name: string): boolean => name.toLowerCase().includes(wanted);
  const shown = found.entities.filter((one) => wanted === "" || matches(one.name) || one.fields.some((field) => matches(field.name)) || one.joins.some((join) => matches(join.name)));
  return (
    <div class="explorer">
      <label class="search">
        <Search />
        <span class="hidden">Search the schema</span>
        <input id="schema-search" type="search" placeholder="Search entities and fields" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
      <ul class="tree">
        {shown.map((one) => (
          <EntityItem key={one.name} entity={one} wanted={wanted} />
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
      <p class="form-error missing">{error.status === 401 ? "This playground requires a login with access to it." : error.message}</p>
      {error.status === 401 && config.integrity && (
        <button type="button" class="primary" onClick={() => (dialog.value = "login")}>
          Log in
        </button>
      )}
    </div>
  );
}

function EntityItem({ entity, wanted }: { entity: Entity; wanted: string }) {
  const isRoot = query.value?.entity === entity.name;
  const few = (schema.value?.entities.length ?? 0) <= OPEN_AT_ONCE;
  const [chosen, setOpen] = useState<boolean | null>(null);
  const inside = wanted !== "" && !entity.name.toLowerCase().includes(wanted);
  const isOpen = inside || (chosen ?? (isRoot || few));
  return (
    <li>
      <div class={isRoot ? "entity is-root" : "entity"}>
        <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          <Chevron />
          <span class="entity-name">{entity.name}</span>
          <span class="count">{entity.fields.length + entity.joins.length}</span>
        </button>
        <button type="button" class="quiet small start" onClick={() => startQuery(entity.name)} aria-label={`New query of ${entity.name}`}>
          Query
        </button>
      </div>
      {isOpen && entity.description && <p class="hint description">{entity.description}</p>}
      {isOpen && <Members root={entity.name} entity={entity} refs={[]} wanted={inside ? wanted : ""} />}
    </li>
  );
}

function Members({ root, entity, refs, wanted }: { root: string; entity: Entity; refs: string[]; wanted: string }) {
  const matches = (name: string): boolean => name.toLowerCase().includes(wanted);
  return (
    <ul>
      {entity.fields
        .filter((one) => matches(one.name))
        .map((one) => (
          <li key={one.name} class="member">
            <Tick root={root} refs={refs} name={one.name} />
            <span class={`type type-${one.kind === "computed" ? "computed" : (one.type ?? "unknown")}`} title={one.description}>
              {one.name === entity.idField && <span class="key">id</span>}
              {one.kind === "computed" ? "computed" : one.type}
            </span>
          </li>
        ))}
      {entity.joins
        .filter((one) => matches(one.name))
        .map((one) => (
          <RelationItem key={one.name} root={root} refs={refs} name={one.name} entity={one.entity} many={one.type === "many"} />
        ))}
    </ul>
  );
}

function Tick({ root, refs, name }: { root: string; refs: string[]; name: string }) {
  const path = [root, ...refs, name].join(".");
  return (
    <label class="tick">
      <input type="checkbox" data-path={path} checked={isSelected(query.value, root, refs, name)} onChange={(event) => (toggleField(root, refs, name), (event.currentTarget.checked = isSelected(query.value, root, refs, name)))} />
      <span class="member-name" title={name}>{name}</span>
    </label>
  );
}

function RelationItem({ root, refs, name, entity, many }: { root: string; refs: string[]; name: string; entity: string; many: boolean }) {
  const [chosen, setOpen] = useState<boolean | null>(null);
  const below = [...refs, name];
  const isOpen = chosen ?? (query.value?.entity === root && isSelected(query.value, root, refs, name));
  const target = schema.value ? entityOf(schema.value, entity) : undefined;
  return (
    <li>
      <div class="member relation">
        <button type="button" class="fold square" aria-expanded={isOpen} aria-label={`Fields of ${[root, ...below].join(".")}`} onClick={() => setOpen(!isOpen)}>
          <Chevron />
        </button>
        <Tick root={root} refs={refs} name={name} />
        <span class="type type-relation">
          {entity}
          {many && <span class="many">[ ]</span>}
        </span>
      </div>
      {isOpen && target && <Members root={root} entity={target} refs={below} wanted="" />}
    </li>
  );
}
