// The schema tree: entities, their fields, and relations that expand in place.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { identity } from "../../api/identity";
import { hasCredentials } from "../../api/session";
import { browse } from "../../browse/state";
import { isSelected } from "../../query/edit";
import { nodeAt } from "../../query/tree";
import { described, entityOf, fieldTitle, idFields, typeText, type Entity, type Field } from "../../schema";
import { query, schema, schemaError, startQuery, toggleField } from "../../state";
import { Chevron, Search } from "../parts/icons";
import { Failure, Missing } from "./Missing";
import { activate, activateFirst, activeItem, treeKeys } from "../parts/tree";

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
  const keepFocus = (event: MouseEvent): void => {
    const tree = event.currentTarget as HTMLElement;
    activate(event.target as Element);
    tree.focus({ preventScroll: true });
    event.preventDefault();
  };
  return (
    <div class="explorer">
      <label class="search row">
        <Search />
        <span class="hidden">Search the schema</span>
        <input id="schema-search" type="search" placeholder="Search the schema" value={typed} onInput={(event) => setTyped(event.currentTarget.value)} />
      </label>
      {schemaError.value && <Failure />}
      {shown.length > 0 && (
        <ul
          class="tree"
          role="tree"
          aria-label="Entities"
          tabIndex={0}
          aria-activedescendant={activeItem.value || undefined}
          onFocus={(event) => activateFirst(event.currentTarget)}
          onKeyDown={treeKeys}
          onMouseDown={keepFocus}
        >
          {shown.map((entity) => (
            <EntityItem key={entity.name} entity={entity} wanted={wanted} />
          ))}
        </ul>
      )}
      {shown.length === 0 && <p class="hint">{wanted === "" ? nothing() : `Nothing has “${typed}” in its name.`}</p>}
    </div>
  );
}

/** Says why there are no entities. Policies may leave none to a caller. */
function nothing(): string {
  if (!hasCredentials) return "The schema has no entities.";
  return identity.value ? "Your role sees no entities." : "Without a login there are no entities to see.";
}

interface ItemProps {
  id: string;
  name: string;
  class: string;
  title: string;
  level: number;
  isOpen?: boolean;
  isChecked?: boolean;
  children: ComponentChildren;
}

/** The line of an item. The group of its members follows it. */
function TreeItem({ id, name, class: kind, title, level, isOpen, isChecked, children }: ItemProps) {
  const isActive = activeItem.value === id;
  return (
    <div
      id={id}
      role="treeitem"
      aria-level={level}
      aria-expanded={isOpen}
      aria-checked={isChecked}
      aria-selected={isActive}
      title={title}
      data-name={name}
      class={`${kind} item row ${isActive ? "active" : ""}`}
    >
      {children}
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
    <li role="none">
      <TreeItem id={`tree-${entity.name}`} name={entity.name} class="entity" title={described(entity)} level={1} isOpen={isOpen}>
        <button type="button" class="fold flat grow" tabIndex={-1} data-fold onClick={() => setOpen(!isOpen)}>
          <Chevron />
          <span class={isRoot ? "ellipsis strong act" : "ellipsis strong"}>{entity.name}</span>
          <span class="count">{entity.fields.length + entity.joins.length}</span>
        </button>
        <button type="button" class="quiet small start" tabIndex={-1} data-main onClick={() => startQuery(entity.name)}>
          Query
        </button>
        <button type="button" class="quiet small start" tabIndex={-1} onClick={() => browse(entity.name)}>
          Rows
        </button>
      </TreeItem>
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
    <ul role="group">
      {entity.fields.filter(matches).map((field) => (
        <FieldItem key={field.name} root={root} refs={refs} name={field.name} type={typeText(field)} isKey={idFields(entity).includes(field.name)} field={field} />
      ))}
      {entity.joins.filter(matches).map((join) => (
        <RelationItem key={join.name} root={root} refs={refs} name={join.name} entity={join.entity} many={join.type === "many"} />
      ))}
      {aliases.map(({ name, of = "" }) => {
        const join = entity.joins.find((one) => one.name === of);
        if (join) return <RelationItem key={name} root={root} refs={refs} name={name} entity={of} target={join.entity} many={join.type === "many"} />;
        return <FieldItem key={name} root={root} refs={refs} name={name} type={of} />;
      })}
    </ul>
  );
}

interface FieldProps {
  root: string;
  refs: string[];
  name: string;
  type: string;
  isKey?: boolean;
  /** `undefined` for an alias. */
  field?: Field;
}

function FieldItem({ root, refs, name, type, isKey = false, field }: FieldProps) {
  const title = field ? fieldTitle(field) : name;
  return (
    <li role="none">
      <TreeItem id={idOf(root, refs, name)} name={name} class="member" title={title} level={refs.length + 2} isChecked={isSelected(query.value, root, refs, name)}>
        <Tick root={root} refs={refs} name={name} />
        <span class="type ellipsis faint">
          {isKey && <span class="key">id</span>}
          {type}
        </span>
      </TreeItem>
    </li>
  );
}

function idOf(root: string, refs: string[], name: string): string {
  return ["tree", root, ...refs, name].join("-");
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
      <input type="checkbox" tabIndex={-1} data-main data-path={[root, ...refs, name].join(".")} checked={isChecked()} onChange={(event) => toggle(event.currentTarget)} />
      <span class={isRelation ? "member-name ellipsis relate" : "member-name ellipsis"}>{name}</span>
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
  const isChecked = isSelected(query.value, root, refs, name);
  const isOpen = chosen ?? isChecked;
  const target = schema.value ? entityOf(schema.value, of) : undefined;
  const title = `${name}: ${many ? "many of" : "one of"} ${target?.description === undefined ? entity : described({ name: entity, description: target.description })}`;
  return (
    <li role="none">
      <TreeItem id={idOf(root, refs, name)} name={name} class="member relation" title={title} level={refs.length + 2} isOpen={isOpen} isChecked={isChecked}>
        <button type="button" class="fold flat square" tabIndex={-1} data-fold aria-label={`Fields of ${[root, ...path].join(".")}`} onClick={() => setOpen(!isOpen)}>
          <Chevron />
        </button>
        <Tick root={root} refs={refs} name={name} isRelation />
        <span class="type ellipsis soft">
          {entity}
          {many && <span class="many faint">[ ]</span>}
        </span>
      </TreeItem>
      {isOpen && target && <Members root={root} entity={target} refs={path} wanted="" />}
    </li>
  );
}
