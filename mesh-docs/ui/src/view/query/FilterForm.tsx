// The form for `$where`: conditions on fields and relations, and groups of them.

import { joinSearch, QUANTIFIERS, readFilter, splitSearch, writeFilter, type Condition, type Filter, type Group, type Related, type Search } from "../../query/filter";
import { freeName, paramName, type Value } from "../../query/tree";
import { entityOf, idFields, relationOf, scalars, type Entity } from "../../schema";
import { parameters, schema } from "../../state";
import { AddButton, Choice, IconButton } from "../parts/controls";
import { Close } from "../parts/icons";
import { ConditionRow } from "./ConditionRow";
import { ParamButton } from "./Params";

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
  const hasSearch = entity.search && (value === undefined || filter !== undefined);
  // The search has a field of its own, beside the other conditions.
  const { search, rest } = hasSearch ? splitSearch(filter) : { rest: filter };
  const join = (one: Search | undefined, other: Filter | undefined): void => {
    const next = joinSearch(one, other);
    set(next && writeFilter(next));
  };
  const change = (next: Filter | undefined): void => join(search, next);
  return (
    <fieldset class="control">
      <legend class="faint">Filter</legend>
      {value !== undefined && !filter && <p class="hint">This filter can only be edited as text.</p>}
      {hasSearch && <SearchRow search={search} testId="search" change={(next) => join(next?.text === "" ? undefined : next, rest)} />}
      {rest && <FilterItem filter={rest} entity={entity} operators={operators} depth={0} change={change} />}
      {(value === undefined || (search && !rest)) && (
        <span class="adders row">
          <Adders entity={entity} depth={0} add={change} testId="condition" />
        </span>
      )}
    </fieldset>
  );
}

interface SearchProps {
  search: Search | undefined;
  testId?: string;
  change: (next: Search | undefined) => void;
  /** Takes the row away; without it, the row is always there. */
  remove?: () => void;
}

/** A search for words. */
function SearchRow({ search, testId, change, remove }: SearchProps) {
  const param = paramName(search?.text);
  const set = (text: Value): void => change({ kind: "search", text });
  return (
    <div class="condition row wrap">
      {param !== undefined ? (
        <code class="value ellipsis">${param}</code>
      ) : (
        <input
          type="search"
          class="value"
          aria-label="Search"
          data-testid={testId}
          placeholder={'Search: words, "a phrase", prefix*, -without'}
          spellcheck={false}
          value={String(search?.text ?? "")}
          onInput={(event) => set(event.currentTarget.value)}
        />
      )}
      <ParamButton isOn={param !== undefined} act={(isOn) => set(isOn ? { $param: freeName("search", parameters.value.map(({ name }) => name)) } : "")} />
      {remove && (
        <IconButton label="Remove the search" act={remove}>
          <Close />
        </IconButton>
      )}
    </div>
  );
}

interface AddersProps {
  entity: Entity;
  depth: number;
  /** Whether a search can stand here. */
  canSearch?: boolean | undefined;
  add: (item: Filter) => void;
  testId?: string;
}

/** Buttons that add a condition on a field or, if the entity has relations, on their records. */
function Adders({ entity, depth, canSearch, add, testId }: AddersProps) {
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
      {canSearch && (
        <AddButton {...(testId && { testId: `add-${testId}-search` })} act={() => add({ kind: "search", text: "" })}>
          Search
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
  /** Whether the item is below `not`, where no search can be. */
  isNegated?: boolean | undefined;
  change: (next: Filter | undefined) => void;
}

function isGroup(filter: Filter): filter is Group {
  return filter.kind === "and" || filter.kind === "or" || filter.kind === "not";
}

function FilterItem(props: ItemProps<Filter>) {
  const { filter, entity, depth, change } = props;
  if (isGroup(filter)) return <GroupItem {...props} filter={filter} />;
  if (filter.kind === "search") return <SearchRow search={filter} change={change} remove={() => change(undefined)} />;
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
function RelatedItem({ filter, entity, operators, depth, isNegated, change }: ItemProps<Related>) {
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
            <FilterItem filter={where} entity={target} operators={operators} depth={depth + 1} isNegated={isNegated} change={setWhere} />
          ) : (
            <span class="adders row">
              <Adders entity={target} depth={depth + 1} canSearch={target.search && !isNegated} add={setWhere} testId="related" />
            </span>
          )}
          {where && !isGroup(where) && (
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
  const isNegated = props.isNegated || filter.kind === "not";
  const hasField = depth === 0 && filter.kind === "and";
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
          <FilterItem key={index} {...props} filter={item} depth={depth + 1} isNegated={isNegated} change={(next) => replace(index, next)} />
        ))}
        <span class="adders row">
          <Adders entity={entity} depth={depth + 1} canSearch={entity.search && !isNegated && !hasField} add={add} />
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
