// The form for `$orderBy`.

import { keyNames, type Grouping } from "../../query/group";
import type { Value } from "../../query/tree";
import { entityOf, pathFields, relationOf, scalars, type Entity } from "../../schema";
import { schema } from "../../state";
import { AddButton, Choice, IconButton } from "../parts/controls";
import { Close, Down, Up } from "../parts/icons";
import { accepts } from "./GroupForm";

interface Fold {
  fn: string;
  field?: string;
  distinct?: boolean;
}
interface Key {
  field?: string;
  relation?: string;
  /** The alias of an aggregate, or the aggregate of a relation. */
  aggregate?: string | Fold;
  /** `relevance`: how well a record matches the search of the filter. It has no direction. */
  search?: string;
}
interface Order extends Key {
  direction?: string;
  nulls?: string;
}

const RELEVANCE: Key = { search: "relevance" };

function keyName({ field, relation, aggregate, search }: Key): string {
  if (search !== undefined) return "best match";
  return relation !== undefined ? `${relation}[ ]` : (field ?? String(aggregate ?? ""));
}

/**
 * Returns the keys that a read can be ordered by: its fields, those of related records and aggregates of relations or, if it
 * is grouped, its group keys and aggregates.
 */
function orderKeys(entity: Entity, grouping: Grouping, chosen: string): Key[] {
  const { aggregates } = grouping;
  const keys = keyNames(grouping);
  if (keys.length > 0 || aggregates.length > 0) {
    return [...keys.map((field) => ({ field })), ...aggregates.map(({ alias }) => ({ aggregate: alias }))];
  }
  const known = schema.value;
  const ordered = known ? pathFields(known, entity, chosen).filter(({ field: { type } }) => type !== "json" && type !== "binary") : [];
  const lists = entity.joins.filter(({ type }) => type === "many");
  return [...ordered.map(({ path }) => ({ field: path })), ...lists.map(({ name }) => ({ relation: name, aggregate: { fn: "count" } }))];
}

interface Props {
  entity: Entity;
  functions: string[];
  grouping: Grouping;
  /** Whether the first key may be the relevance of a search. */
  hasRelevance: boolean;
  value: Value | undefined;
  set: (value: Value | undefined) => void;
}

export function OrderForm({ entity, functions, grouping, hasRelevance, value, set }: Props) {
  const orders = (Array.isArray(value) ? value : []) as unknown as Order[];
  const write = (next: Order[]): void => set(next.length === 0 ? undefined : (next as unknown as Value));
  const keysAt = (index: number, chosen: string): Key[] => [...(hasRelevance && index === 0 ? [RELEVANCE] : []), ...orderKeys(entity, grouping, chosen)];
  const free = keysAt(orders.length, "").find((key) => !orders.some((order) => keyName(order) === keyName(key)));
  const ordered = (key: Key, rest: Partial<Order> = {}): Order => (key.search === undefined ? { ...key, direction: "asc", ...rest } : key);
  return (
    <fieldset class="control">
      <legend class="faint">Order</legend>
      {orders.map((order, index) => {
        const { field: _, relation: __, aggregate: ___, search, ...rest } = order;
        const keys = keysAt(index, order.field ?? "");
        const replace = (next: Order): void => write(orders.with(index, next));
        const other = order.direction === "desc" ? "asc" : "desc";
        return (
          <div class="order row wrap" key={index}>
            <Choice
              label="Field to order by"
              value={keyName(order)}
              options={keys.map(keyName)}
              choose={(name) => replace(ordered(keys.find((key) => keyName(key) === name) ?? order, rest))}
            />
            {order.relation !== undefined && typeof order.aggregate === "object" && (
              <FoldOf entity={entity} relation={order.relation} functions={functions} fold={order.aggregate} set={(aggregate) => replace({ ...order, aggregate })} />
            )}
            {search === undefined && (
              <>
                <button type="button" class="direction" aria-label={`${order.direction}: switch the direction`} onClick={() => replace({ ...order, direction: other })}>
                  {order.direction === "desc" ? <Down /> : <Up />}
                  {order.direction}
                </button>
                <label class="inline">
                  nulls
                  <Choice label="Position of nulls" value={order.nulls ?? "last"} options={["first", "last"]} choose={(nulls) => replace({ ...order, nulls })} />
                </label>
              </>
            )}
            <IconButton label={`Do not order by ${keyName(order)}`} act={() => write(orders.toSpliced(index, 1))}>
              <Close />
            </IconButton>
          </div>
        );
      })}
      {free && (
        <span class="adders row">
          <AddButton testId="add-order" act={() => write([...orders, ordered(free)])}>
            Order by
          </AddButton>
        </span>
      )}
    </fieldset>
  );
}

interface FoldProps {
  entity: Entity;
  relation: string;
  functions: string[];
  fold: Fold;
  set: (fold: Fold) => void;
}

/** The aggregate of a relation's records that a read is ordered by. */
function FoldOf({ entity, relation, functions, fold, set }: FoldProps) {
  const known = schema.value;
  const target = known ? entityOf(known, relationOf(known, entity.name, relation)?.entity) : undefined;
  const fieldsFor = (fn: string): string[] => (target ? scalars(target) : []).filter(({ type }) => accepts(fn, type)).map(({ name }) => name);
  const setFunction = (fn: string): void => {
    const allowed = fieldsFor(fn);
    const field = fold.field && allowed.includes(fold.field) ? fold.field : fn === "count" ? undefined : allowed[0];
    set({ ...(fold.distinct && { distinct: true }), fn, ...(field !== undefined && { field }) });
  };
  return (
    <>
      <Choice label="Function" value={fold.fn} options={functions} choose={setFunction} />
      <Choice
        label="Aggregated field"
        value={fold.field ?? ""}
        options={[...(fold.fn === "count" ? [""] : []), ...fieldsFor(fold.fn)]}
        names={{ "": "records" }}
        choose={(field) => set(field === "" ? { fn: fold.fn } : { ...fold, field })}
      />
    </>
  );
}
