// The search of a record of an entity, by its name or id.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { execute } from "../../api/client";
import { idOf, leaf } from "../../browse/view";
import { parseValue } from "../../query/filter";
import { member } from "../../query/json";
import { printQuery } from "../../query/print";
import { emptyNode, newQuery, type Controls, type Value } from "../../query/tree";
import { fieldOf, firstField, idFields, type Entity } from "../../schema";
import { schema } from "../../state";
import { newNames } from "../../write/staged";
import { cellText } from "../../table/cell";
import { itemsOf } from "../../table/columns";
import { usePopover } from "../parts/popover";

/** The records that are offered. */
const OFFERED = 8;
/** The pause in typing after which records are searched. */
const TYPE_DELAY_MS = 200;

interface Offer {
  id: string;
  label: string;
}

interface Props {
  entity: Entity;
  label: string;
  choose: (id: string) => void;
}

/** Returns the query of the records whose descriptive field contains a text, or whose id it is. */
function searchQuery(entity: Entity, typed: string): string {
  const known = schema.value;
  const name = firstField(entity);
  const ids = idFields(entity);
  const typeOf = (field: string | undefined): string | undefined => (known && field !== undefined ? fieldOf(known, entity.name, field)?.type : undefined);
  const conditions: Value[] = [];
  const escaped = typed.replaceAll(/[\\%_]/g, "\\$&");
  if (name !== undefined && typeOf(name) === "string") conditions.push({ field: name, op: "ilike", value: `%${escaped}%` });
  const [id] = ids;
  const isNumber = typeOf(id) === "integer" || typeOf(id) === "bigint";
  if (id !== undefined && ids.length === 1 && id !== name && (isNumber ? /^\d+$/.test(typed) : typeOf(id) === "string")) conditions.push({ field: id, op: "eq", value: parseValue(typed, typeOf(id), "eq") });
  const where: Controls = typed === "" || conditions.length === 0 ? {} : { $where: { or: conditions } };
  const select = [...new Set([...ids, ...(name === undefined ? [] : [name])])].map(leaf);
  return printQuery("json", { ...newQuery(entity.name), root: { ...emptyNode(), select, controls: { ...where, $page: { first: OFFERED } } } });
}

/** Returns the staged new records whose name contains a text. Their id is a reference. */
function newOffers(entity: Entity, typed: string): Offer[] {
  const [id, ...others] = idFields(entity);
  if (id === undefined || others.length > 0) return [];
  const names = newNames(entity.name).filter((name) => name.toLowerCase().includes(typed.toLowerCase()));
  return names.map((name) => ({ id: `$${name}.${id}`, label: `new ${name}` }));
}

export function RecordSearch({ entity, label, choose }: Props) {
  const { isOpen, host, toggle, leave, keys } = usePopover();
  return (
    <span class="menu" ref={host} onKeyDown={keys}>
      <button type="button" class="quiet small" aria-expanded={isOpen} onClick={toggle}>
        {label}
      </button>
      {isOpen && <Offers entity={entity} label={label} choose={(id) => (leave(), choose(id))} />}
    </span>
  );
}

function Offers({ entity, label, choose }: Props) {
  const id = useId();
  const [typed, setTyped] = useState("");
  const [offers, setOffers] = useState<Offer[] | null>(null);
  const [error, setError] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => list.current?.scrollIntoView({ block: "nearest" }), [offers]);
  useEffect(() => {
    const controller = new AbortController();
    const read = async (): Promise<void> => {
      try {
        const { data, source } = await execute({ query: searchQuery(entity, typed.trim()), format: "json", id: "" }, false, controller.signal);
        const found = itemsOf(member(data, "items")).flatMap((record): Offer[] => {
          const key = idOf(entity, record);
          return key === undefined ? [] : [{ id: key, label: cellText(member(record, firstField(entity) ?? ""), undefined, source).text }];
        });
        setOffers([...newOffers(entity, typed.trim()), ...found]);
        setAt(0);
        setError("");
      } catch (failure) {
        if (!controller.signal.aborted) setError((failure as Error).message);
      }
    };
    const timer = window.setTimeout(() => void read(), typed === "" ? 0 : TYPE_DELAY_MS);
    return () => {
      window.clearTimeout(timer);
      controller.abort();
    };
  }, [typed]);
  const keys = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const offer = offers?.[at];
    if (step !== undefined) setAt(Math.max(0, Math.min(at + step, (offers?.length ?? 0) - 1)));
    else if (event.key === "Enter" && offer) choose(offer.id);
    else return;
    event.preventDefault();
  };
  return (
    <span class="menu-list record-search column" data-testid="record-search">
      <input
        role="combobox"
        aria-label={label}
        aria-expanded={offers !== null}
        aria-controls={id}
        aria-activedescendant={offers?.[at] ? `${id}-${at}` : undefined}
        aria-autocomplete="list"
        autocomplete="off"
        placeholder={`${entity.name}: name or id`}
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        onKeyDown={keys}
      />
      {error && <p class="form-error bad">{error}</p>}
      <ul ref={list} id={id} role="listbox" aria-label={label}>
        {offers?.map((offer, index) => (
          <li key={offer.id} id={`${id}-${index}`} role="option" aria-selected={index === at} onMouseMove={() => setAt(index)} onClick={() => choose(offer.id)}>
            <span class="ellipsis">{offer.label}</span> <span class="faint">{offer.id}</span>
          </li>
        ))}
        {offers?.length === 0 && (
          <li class="faint" role="option" aria-selected="false" aria-disabled="true">
            No matches
          </li>
        )}
      </ul>
    </span>
  );
}
