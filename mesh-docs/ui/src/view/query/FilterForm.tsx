// The form for `$where`: conditions, and groups of them.

import { useState } from "preact/hooks";
import { isList, isNullTest, operatorsFor, parseValue, readFilter, showValue, writeFilter, type Condition, type Filter, type Group } from "../../query/filter";
import type { Value } from "../../query/tree";
import { idFields, scalars, type Entity } from "../../schema";
import { AddButton, Choice, IconButton } from "../parts/controls";
import { Close } from "../parts/icons";

/** The depth at which no more groups are offered; it is below the maximum of the protocol. */
const DEPTH_MAX = 6;

interface FormProps {
  entity: Entity;
  operators: string[];
  value: Value | undefined;
  set: (value: Value | undefined) => void;
}

export function FilterForm({ entity, operators, value, set }: FormProps) {
  const filter = readFilter(value);
  return (
    <fieldset class="control">
      <legend class="faint">Filter</legend>
      {value !== undefined && !filter && <p class="hint">This filter can only be edited as text.</p>}
      {filter && <FilterItem filter={filter} entity={entity} operators={operators} depth={0} change={(next) => set(next && writeFilter(next))} />}
      {value === undefined && (
        <span class="adders row">
          <AddButton testId="add-condition" act={() => set(writeFilter(initialCondition(entity)))}>
            Condition
          </AddButton>
        </span>
      )}
    </fieldset>
  );
}

/** Returns a valid condition to start with, on a text field if there is one. */
function initialCondition(entity: Entity): Condition {
  const fields = scalars(entity);
  const field = fields.find(({ type }) => type === "string") ?? fields.find(({ name }) => idFields(entity).includes(name)) ?? fields[0];
  const condition = { kind: "condition" as const, field: field?.name ?? "id" };
  switch (field?.type) {
    case "string":
      return { ...condition, op: "eq", value: "" };
    case "boolean":
      return { ...condition, op: "eq", value: true };
    case "integer":
    case "number":
      return { ...condition, op: "gt", value: 0 };
    default:
      return { ...condition, op: "isNotNull", value: undefined };
  }
}

interface ItemProps<F> {
  filter: F;
  entity: Entity;
  operators: string[];
  depth: number;
  change: (next: Filter | undefined) => void;
}

function FilterItem(props: ItemProps<Filter>) {
  const { filter, entity, depth, change } = props;
  if (filter.kind !== "condition") return <GroupItem {...props} filter={filter} />;
  const join = (kind: "and" | "or"): void => change({ kind, items: [filter, initialCondition(entity)] });
  return (
    <div class="filter-lone">
      <ConditionRow {...props} filter={filter} />
      {depth === 0 && (
        <span class="adders row">
          <AddButton act={() => join("and")}>and</AddButton>
          <AddButton act={() => join("or")}>or</AddButton>
        </span>
      )}
    </div>
  );
}

function GroupItem(props: ItemProps<Group>) {
  const { filter, entity, depth, change } = props;
  const replace = (index: number, next: Filter | undefined): void => {
    const items = filter.items.flatMap((item, at) => (at !== index ? [item] : next ? [next] : []));
    // A group of one item is equivalent to the item.
    if (filter.kind !== "not" && items.length === 1) change(items[0]);
    else change(items.length > 0 ? { ...filter, items } : undefined);
  };
  const add = (item: Filter): void => change({ ...filter, items: [...filter.items, item] });
  const other = filter.kind === "or" ? "and" : "or";
  return (
    <div class="filter-group">
      <Choice
        label="How the conditions are joined"
        class="relate"
        value={filter.kind}
        options={["and", "or", "not"]}
        names={{ and: "all of", or: "any of", not: "none of" }}
        choose={(kind) => change(withKind(filter, kind as Group["kind"]))}
      />
      <div class="filter-items">
        {filter.items.map((item, index) => (
          <FilterItem key={index} {...props} filter={item} depth={depth + 1} change={(next) => replace(index, next)} />
        ))}
        <span class="adders row">
          <AddButton act={() => add(initialCondition(entity))}>Condition</AddButton>
          {depth < DEPTH_MAX && <AddButton act={() => add({ kind: other, items: [initialCondition(entity), initialCondition(entity)] })}>Group</AddButton>}
        </span>
      </div>
    </div>
  );
}

/** Changes the kind of a group. "None of" several conditions is `not` around an `or`. */
function withKind(group: Group, kind: Group["kind"]): Filter {
  if (kind === "not" && group.kind !== "not") return { kind, items: group.items.length === 1 ? group.items : [{ kind: "or", items: group.items }] };
  const [only] = group.items;
  if (group.kind === "not" && only && only.kind !== "condition") return { ...only, kind };
  return { ...group, kind };
}

function ConditionRow({ filter, entity, operators, change }: ItemProps<Condition>) {
  const fields = scalars(entity);
  const typeOf = (field: string): string | undefined => fields.find(({ name }) => name === field)?.type;
  const type = typeOf(filter.field);
  const set = (next: Condition): void => change(isNullTest(next.op) ? { ...next, value: undefined } : next);
  const setOperator = (op: string): void => set({ ...filter, op, value: parseValue(showValue(filter.value), type, op) });
  const setField = (field: string): void => {
    const next = typeOf(field);
    const allowed = operatorsFor(next, operators);
    const op = allowed.includes(filter.op) ? filter.op : (allowed[0] ?? "eq");
    const value = next === "boolean" && typeof filter.value !== "boolean" ? true : parseValue(showValue(filter.value), next, op);
    set({ ...filter, field, op, value });
  };
  return (
    <div class="condition row">
      <Choice label="Field" value={filter.field} options={fields.map(({ name }) => name)} choose={setField} />
      <Choice label="Operator" value={filter.op} options={operatorsFor(type, operators)} choose={setOperator} />
      {isNullTest(filter.op) ? (
        <span class="value" />
      ) : type === "boolean" ? (
        <Choice label="Value" class="value" value={String(filter.value)} options={["true", "false"]} choose={(value) => change({ ...filter, value: value === "true" })} />
      ) : (
        <ValueInput filter={filter} type={type} change={change} />
      )}
      <IconButton label="Remove the condition" act={() => change(undefined)}>
        <Close />
      </IconButton>
    </div>
  );
}

function ValueInput({ filter, type, change }: { filter: Condition; type: string | undefined; change: (next: Filter) => void }) {
  // The text as typed, which may differ from the text of the value, such as `1.` from `1`.
  const [typed, setTyped] = useState<string | null>(null);
  const hint = isList(filter.op) ? "one, two, three" : filter.op === "like" || filter.op === "ilike" ? "%part%" : (type ?? "value");
  const input = (text: string): void => {
    setTyped(text);
    change({ ...filter, value: parseValue(text, type, filter.op) });
  };
  return (
    <input
      class="value"
      aria-label="Value"
      placeholder={hint}
      spellcheck={false}
      value={typed ?? showValue(filter.value)}
      onInput={(event) => input(event.currentTarget.value)}
      onBlur={() => setTyped(null)}
    />
  );
}
