// Forms for filter, order and page of one node of the query.

import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { isNullTest, isList, operatorsFor, parseValue, readFilter, showValue, writeFilter, type Condition, type Filter, type Group } from "../../query/filter";
import { readGrouping, type Grouping } from "../../query/group";
import { nodeAt, nodes, RawNumber, type Value } from "../../query/tree";
import { entityAt, relationOf, type Entity, type Schema } from "../../schema";
import { isPoint, query, schema, setNodeControl } from "../../state";
import { GroupForm } from "./GroupForm";
import { Chevron, Close, Down, Plus, Up } from "../parts/icons";

/** The node whose controls are shown, as refs joined by dots; empty for the root. */
const shown = signal("");
/** A low window has better uses for its height. */
const isOpen = signal(window.innerHeight > 720);

/** The nodes that take controls: the root of a collection, and to-many relations. */
function listNodes(found: Schema): string[] {
  const tree = query.value;
  if (!tree) return [];
  const lists = nodes(tree).filter(({ refs }) => {
    if (refs.length === 0) return !isPoint.value;
    const parent = entityAt(found, tree.entity, refs.slice(0, -1));
    return relationOf(found, parent?.name, refs.at(-1) ?? "")?.type === "many";
  });
  return lists.map(({ refs }) => refs.join("."));
}

export function Controls() {
  const [found, tree] = [schema.value, query.value];
  if (!found || !tree) return null;
  const places = listNodes(found);
  const place = places.includes(shown.value) ? shown.value : places[0];
  if (place === undefined) return <p class="controls-none hint">A point read has no filter or order.</p>;
  const refs = place === "" ? [] : place.split(".");
  const entity = entityAt(found, tree.entity, refs);
  const controls = nodeAt(tree, refs)?.controls ?? {};
  if (!entity) return null;
  const set = (control: string, value: Value | undefined): void => setNodeControl(refs, control, value);
  const count = ["$where", "$groupBy", "$aggregate", "$orderBy", "$page"].filter((one) => controls[one] !== undefined).length;
  return (
    <div class="controls">
      <div class="controls-head">
        <button type="button" class="fold" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          <Chevron />
          Filter, group, order, page
          {count > 0 && <span class="count">{count}</span>}
        </button>
        {places.length > 1 && (
          <label class="inline">
            of
            <select value={place} data-testid="controls-node" onChange={(event) => (shown.value = event.currentTarget.value)}>
              {places.map((one) => (
                <option key={one} value={one}>
                  {one === "" ? tree.entity : `${tree.entity}.${one}`}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {isOpen.value && (
        <div class="controls-body">
          <FilterForm entity={entity} value={controls["$where"]} operators={found.query.filterOperators} set={(value) => set("$where", value)} />
          {refs.length === 0 && <GroupForm query={tree} entity={entity} functions={found.query.aggregateFunctions} />}
          <OrderForm entity={entity} grouping={readGrouping(tree.root)} isRoot={refs.length === 0} value={controls["$orderBy"]} set={(value) => set("$orderBy", value)} />
          <PageForm value={controls["$page"]} isRoot={refs.length === 0} bounds={found.query.pagination} set={(value) => set("$page", value)} />
        </div>
      )}
    </div>
  );
}

interface FormProps {
  entity: Entity;
  value: Value | undefined;
  set: (value: Value | undefined) => void;
}

/** A condition to begin with, on a field that is likely to be meant and with a value that is right. */
function beginning(entity: Entity): Condition {
  const scalars = entity.fields.filter((one) => one.kind === "scalar");
  const field = scalars.find((one) => one.type === "string") ?? scalars.find((one) => one.name === entity.idField) ?? scalars[0];
  const name = field?.name ?? "id";
  switch (field?.type) {
    case "string":
      return { kind: "condition", field: name, op: "eq", value: "" };
    case "boolean":
      return { kind: "condition", field: name, op: "eq", value: true };
    case "integer":
    case "number":
      return { kind: "condition", field: name, op: "gt", value: 0 };
    default:
      return { kind: "condition", field: name, op: "isNotNull", value: undefined };
  }
}

function FilterForm({ entity, value, operators, set }: FormProps & { operators: string[] }) {
  const filter = readFilter(value);
  const start = (kind: "condition" | "or"): void => set(writeFilter(kind === "condition" ? beginning(entity) : { kind, items: [beginning(entity)] }));
  return (
    <fieldset class="control">
      <legend>Filter</legend>
      {value !== undefined && !filter && <p class="hint">This filter can only be edited as text.</p>}
      {filter && <FilterItem filter={filter} entity={entity} operators={operators} depth={0} change={(next) => set(next && writeFilter(next))} />}
      {value === undefined && (
        <span class="adders">
          <button type="button" class="add" data-testid="add-condition" onClick={() => start("condition")}>
            <Plus /> Condition
          </button>
        </span>
      )}
    </fieldset>
  );
}

interface ItemProps {
  filter: Filter;
  entity: Entity;
  operators: string[];
  depth: number;
  change: (next: Filter | undefined) => void;
}

/** The bound of the protocol on a filter's depth is near; forms stop before it. */
const DEPTH_MAX = 6;

function FilterItem(props: ItemProps) {
  const { filter, entity, depth, change } = props;
  if (filter.kind === "condition") {
    return (
      <div class="filter-lone">
        <ConditionRow {...props} filter={filter} />
        {depth === 0 && (
          <span class="adders">
            <button type="button" class="add" onClick={() => change({ kind: "and", items: [filter, beginning(entity)] })}>
              <Plus /> and
            </button>
            <button type="button" class="add" onClick={() => change({ kind: "or", items: [filter, beginning(entity)] })}>
              <Plus /> or
            </button>
          </span>
        )}
      </div>
    );
  }
  const replace = (index: number, next: Filter | undefined): void => {
    const items = filter.items.flatMap((item, at) => (at === index ? (next ? [next] : []) : [item]));
    // A group of one says no more than the one.
    const [only] = items;
    if (filter.kind !== "not" && items.length === 1 && only) change(only);
    else change(items.length > 0 ? { ...filter, items } : undefined);
  };
  const add = (item: Filter): void => change({ ...filter, items: [...filter.items, item] });
  const other = filter.kind === "or" ? "and" : "or";
  return (
    <div class="filter-group">
      <span class="filter-kind">
        <label>
          <span class="hidden">How the conditions are joined</span>
          <select value={filter.kind} onChange={(event) => change(withKind(filter, event.currentTarget.value as Group["kind"]))}>
            <option value="and">all of</option>
            <option value="or">any of</option>
            <option value="not">none of</option>
          </select>
        </label>
      </span>
      <div class="filter-items">
        {filter.items.map((item, index) => (
          <FilterItem key={index} {...props} filter={item} depth={depth + 1} change={(next) => replace(index, next)} />
        ))}
        <span class="adders">
          <button type="button" class="add" onClick={() => add(beginning(entity))}>
            <Plus /> Condition
          </button>
          {depth < DEPTH_MAX && (
            <button type="button" class="add" onClick={() => add({ kind: other, items: [beginning(entity), beginning(entity)] })}>
              <Plus /> Group
            </button>
          )}
        </span>
      </div>
    </div>
  );
}

/** "None of" several is "not any of them"; as a tree it is `not` around the rest. */
function withKind(group: Group, kind: Group["kind"]): Filter {
  if (kind === "not" && group.kind !== "not") return { kind, items: group.items.length === 1 ? group.items : [{ kind: "or", items: group.items }] };
  const [only] = group.items;
  if (group.kind === "not" && only && only.kind !== "condition") return { ...only, kind };
  return { ...group, kind };
}

function ConditionRow({ filter, entity, operators, change }: ItemProps & { filter: Condition }) {
  const fields = entity.fields.filter((one) => one.kind === "scalar");
  const type = fields.find((one) => one.name === filter.field)?.type;
  const ops = operatorsFor(type, operators);
  const setOp = (op: string): void => {
    const text = showValue(filter.value);
    change({ ...filter, op, value: isNullTest(op) ? undefined : parseValue(text, type, op) });
  };
  const setField = (field: string): void => {
    const next = fields.find((one) => one.name === field)?.type;
    const allowed = operatorsFor(next, operators);
    const op = allowed.includes(filter.op) ? filter.op : (allowed[0] ?? "eq");
    const value = next === "boolean" && typeof filter.value !== "boolean" ? true : parseValue(showValue(filter.value), next, op);
    change({ ...filter, field, op, value: isNullTest(op) ? undefined : value });
  };
  return (
    <div class="condition">
      <select aria-label="Field" value={filter.field} onChange={(event) => setField(event.currentTarget.value)}>
        {!fields.some((one) => one.name === filter.field) && <option>{filter.field}</option>}
        {fields.map((one) => (
          <option key={one.name}>{one.name}</option>
        ))}
      </select>
      <select aria-label="Operator" value={filter.op} onChange={(event) => setOp(event.currentTarget.value)}>
        {!ops.includes(filter.op) && <option>{filter.op}</option>}
        {ops.map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
      {isNullTest(filter.op) ? <span class="value" /> : type === "boolean" ? <Truth filter={filter} change={change} /> : <ValueInput filter={filter} type={type} change={change} />}
      <button type="button" class="quiet square" aria-label="Remove the condition" onClick={() => change(undefined)}>
        <Close />
      </button>
    </div>
  );
}

function Truth({ filter, change }: { filter: Condition; change: (next: Filter) => void }) {
  return (
    <select class="value" aria-label="Value" value={String(filter.value)} onChange={(event) => change({ ...filter, value: event.currentTarget.value === "true" })}>
      <option>true</option>
      <option>false</option>
    </select>
  );
}

function ValueInput({ filter, type, change }: { filter: Condition; type: string | undefined; change: (next: Filter) => void }) {
  // What is typed stays as it is typed; the query has what it means.
  const [typed, setTyped] = useState<string | null>(null);
  const hint = isList(filter.op) ? "one, two, three" : filter.op === "like" || filter.op === "ilike" ? "%part%" : (type ?? "value");
  return (
    <input
      class="value"
      aria-label="Value"
      placeholder={hint}
      spellcheck={false}
      value={typed ?? showValue(filter.value)}
      onInput={(event) => {
        setTyped(event.currentTarget.value);
        change({ ...filter, value: parseValue(event.currentTarget.value, type, filter.op) });
      }}
      onBlur={() => setTyped(null)}
    />
  );
}

interface Order {
  field?: string;
  aggregate?: string;
  direction: string;
  nulls?: string;
}

/** A key to order by, as JSON writes it. */
type Key = { field: string } | { aggregate: string };

function keyName(key: Partial<Order>): string {
  return key.field ?? key.aggregate ?? "";
}

/** What a read can be ordered by: its fields or, where it is grouped, its keys and aggregates. */
function orderKeys(entity: Entity, { keys, aggregates }: Grouping, isRoot: boolean): Key[] {
  if (isRoot && (keys.length > 0 || aggregates.length > 0)) {
    return [...keys.map((field) => ({ field })), ...aggregates.map(({ alias }) => ({ aggregate: alias }))];
  }
  const ordered = entity.fields.filter((one) => one.kind === "scalar" && one.type !== "json" && one.type !== "binary");
  return ordered.map(({ name }) => ({ field: name }));
}

function OrderForm({ entity, grouping, isRoot, value, set }: FormProps & { grouping: Grouping; isRoot: boolean }) {
  const orders = (Array.isArray(value) ? value : []) as unknown as Order[];
  const choices = orderKeys(entity, grouping, isRoot);
  const write = (next: Order[]): void => set(next.length === 0 ? undefined : (next as unknown as Value));
  const change = (index: number, next: Partial<Order>): void => write(orders.map((one, at) => (at === index ? { ...one, ...next } : one)));
  const choose = (index: number, name: string): void => {
    const chosen = choices.find((one) => keyName(one) === name);
    const { field: _, aggregate: __, ...rest } = orders[index] ?? { direction: "asc" };
    if (chosen) write(orders.map((one, at) => (at === index ? { ...chosen, ...rest } : one)));
  };
  const free = choices.find((one) => !orders.some((order) => keyName(order) === keyName(one)));
  return (
    <fieldset class="control">
      <legend>Order</legend>
      {orders.map((order, index) => (
        <div class="order" key={index}>
          <select aria-label="Field to order by" value={keyName(order)} onChange={(event) => choose(index, event.currentTarget.value)}>
            {!choices.some((one) => keyName(one) === keyName(order)) && <option>{keyName(order)}</option>}
            {choices.map((one) => (
              <option key={keyName(one)}>{keyName(one)}</option>
            ))}
          </select>
          <button type="button" class="direction" aria-label={`${order.direction}: switch the direction`} onClick={() => change(index, { direction: order.direction === "desc" ? "asc" : "desc" })}>
            {order.direction === "desc" ? <Down /> : <Up />}
            {order.direction}
          </button>
          <label class="inline">
            nulls
            <select aria-label="Position of nulls" value={order.nulls ?? "last"} onChange={(event) => change(index, { nulls: event.currentTarget.value })}>
              <option>first</option>
              <option>last</option>
            </select>
          </label>
          <button type="button" class="quiet square" aria-label={`Do not order by ${keyName(order)}`} onClick={() => write(orders.filter((_, at) => at !== index))}>
            <Close />
          </button>
        </div>
      ))}
      {free && (
        <span class="adders">
          <button type="button" class="add" data-testid="add-order" onClick={() => write([...orders, { ...free, direction: "asc" }])}>
            <Plus /> Order by
          </button>
        </span>
      )}
    </fieldset>
  );
}

function PageForm({ value, isRoot, bounds, set }: { value: Value | undefined; isRoot: boolean; bounds: { defaultFirst: number; maxFirst: number }; set: (value: Value | undefined) => void }) {
  const page = typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof RawNumber) ? value : {};
  const first = typeof page["first"] === "number" ? String(page["first"]) : "";
  const write = (text: string): void => {
    const number = Number.parseInt(text, 10);
    if (text === "" || Number.isNaN(number)) {
      const { first: _, ...rest } = page;
      set(Object.keys(rest).length > 0 ? rest : undefined);
    } else set({ ...page, first: Math.min(Math.max(1, number), bounds.maxFirst) });
  };
  return (
    <fieldset class="control">
      <legend>Page</legend>
      <label class="inline">
        first
        <input type="number" class="first" data-testid="first" min={1} max={bounds.maxFirst} placeholder={isRoot ? String(bounds.defaultFirst) : "all"} value={first} onChange={(event) => write(event.currentTarget.value)} />
      </label>
      {typeof page["after"] === "string" && (
        <button type="button" class="add" onClick={() => set(first === "" ? undefined : { first: Number(first) })}>
          Back to the first page
        </button>
      )}
    </fieldset>
  );
}
