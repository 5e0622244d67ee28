// The form for `$where`: conditions on fields and relations, and groups of them.

import { QUANTIFIERS, readFilter, writeFilter, type Condition, type Filter, type Group, type Related } from "../../query/filter";
import type { Value } from "../../query/tree";
import { entityOf, idFields, relationOf, scalars, type Entity } from "../../schema";
import { schema } from "../../state";
import { AddButton, Choice, IconButton } from "../parts/controls";
import { Close } from "../parts/icons";
import { ConditionRow } from "./ConditionRow";

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
  const change = (next: Filter | undefined): void => set(next && writeFilter(next));
  return (
    <fieldset class="control">
      <legend class="faint">Filter</legend>
      {value !== undefined && !filter && <p class="hint">This filter can only be edited as text.</p>}
      {filter && <FilterItem filter={filter} entity={entity} operators={operators} depth={0} change={change} />}
      {value === undefined && (
        <span class="adders row">
          <Adders entity={entity} depth={0} add={change} testId="condition" />
        </span>
      )}
    </fieldset>
  );
}

/** Buttons that add a condition on a field or, if the entity has relations, on their records. */
function Adders({ entity, depth, add, testId }: { entity: Entity; depth: number; add: (item: Filter) => void; testId?: string }) {
  const [relation] = entity.joins;
  return (
    <>
      <AddButton {...(testId && { testId: `add-${testId}` })} act={() => add(initialCondition(entity))}>
        Condition
      </AddButton>
      {relation && depth < DEPTH_MAX && (
        <AddButton {...(testId && { testId: "add-relation" })} act={() => add({ kind: "related", relation: relation.name, op: "some" })}>
          Relation
        </AddButton>
      )}
    </>
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
  if (filter.kind !== "condition" && filter.kind !== "related") return <GroupItem {...props} filter={filter} />;
  const join = (kind: "and" | "or"): void => change({ kind, items: [filter, initialCondition(entity)] });
  return (
    <div class="filter-lone">
      {filter.kind === "related" ? <RelatedItem {...props} filter={filter} /> : <ConditionRow {...props} filter={filter} />}
      {depth === 0 && (
        <span class="adders row">
          <AddButton act={() => join("and")}>and</AddButton>
          <AddButton act={() => join("or")}>or</AddButton>
        </span>
      )}
    </div>
  );
}

/** A condition on the records of a relation, with a filter of these records. */
function RelatedItem({ filter, entity, operators, depth, change }: ItemProps<Related>) {
  const known = schema.value;
  const target = known ? entityOf(known, relationOf(known, entity.name, filter.relation)?.entity) : undefined;
  const { where, op } = filter;
  const setOperator = (next: string): void => {
    // `every` is the one that needs a filter.
    const needed = next === "every" && target ? initialCondition(target) : undefined;
    change({ ...filter, op: next, where: where ?? needed });
  };
  const setRelation = (relation: string): void => {
    const next = known ? entityOf(known, relationOf(known, entity.name, relation)?.entity) : undefined;
    // The filter is about another entity.
    const kept = next === target ? where : next && op === "every" ? initialCondition(next) : undefined;
    change({ ...filter, relation, where: kept });
  };
  const setWhere = (next: Filter | undefined): void => change(next || op !== "every" ? { ...filter, where: next } : undefined);
  return (
    <div class="filter-group">
      <div class="condition row">
        <Choice label="Quantifier" class="relate" value={op} options={QUANTIFIERS} choose={setOperator} />
        <span class="inline">of</span>
        <Choice label="Relation" value={filter.relation} options={entity.joins.map(({ name }) => name)} choose={setRelation} />
        <IconButton label="Remove the condition" act={() => change(undefined)}>
          <Close />
        </IconButton>
      </div>
      {target && (
        <div class="filter-items">
          {where ? (
            <FilterItem filter={where} entity={target} operators={operators} depth={depth + 1} change={setWhere} />
          ) : (
            <span class="adders row">
              <Adders entity={target} depth={depth + 1} add={setWhere} testId="related" />
            </span>
          )}
          {where && (where.kind === "condition" || where.kind === "related") && (
            <span class="adders row">
              {(["and", "or"] as const).map((kind) => (
                <AddButton key={kind} act={() => setWhere({ kind, items: [where, initialCondition(target)] })}>
                  {kind}
                </AddButton>
              ))}
            </span>
          )}
        </div>
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
          <Adders entity={entity} depth={depth + 1} add={add} />
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
  if (group.kind === "not" && only && (only.kind === "and" || only.kind === "or")) return { ...only, kind };
  return { ...group, kind };
}
