// The form for `$orderBy`.

import type { Grouping } from "../../query/group";
import type { Value } from "../../query/tree";
import { scalars, type Entity } from "../../schema";
import { AddButton, Choice, IconButton } from "../parts/controls";
import { Close, Down, Up } from "../parts/icons";

interface Order {
  field?: string;
  aggregate?: string;
  direction: string;
  nulls?: string;
}

function keyName({ field, aggregate }: Partial<Order>): string {
  return field ?? aggregate ?? "";
}

/** Returns the keys that a read can be ordered by: its fields or, if it is grouped, its group keys and aggregates. */
function orderKeys(entity: Entity, { keys, aggregates }: Grouping): Partial<Order>[] {
  if (keys.length > 0 || aggregates.length > 0) {
    return [...keys.map((field) => ({ field })), ...aggregates.map(({ alias }) => ({ aggregate: alias }))];
  }
  const ordered = scalars(entity).filter(({ type }) => type !== "json" && type !== "binary");
  return ordered.map(({ name }) => ({ field: name }));
}

interface Props {
  entity: Entity;
  grouping: Grouping | undefined;
  value: Value | undefined;
  set: (value: Value | undefined) => void;
}

export function OrderForm({ entity, grouping = { keys: [], aggregates: [] }, value, set }: Props) {
  const orders = (Array.isArray(value) ? value : []) as unknown as Order[];
  const keys = orderKeys(entity, grouping);
  const write = (next: Order[]): void => set(next.length === 0 ? undefined : (next as unknown as Value));
  const free = keys.find((key) => !orders.some((order) => keyName(order) === keyName(key)));
  return (
    <fieldset class="control">
      <legend class="faint">Order</legend>
      {orders.map((order, index) => {
        const { field: _, aggregate: __, ...rest } = order;
        const replace = (next: Order): void => write(orders.with(index, next));
        const other = order.direction === "desc" ? "asc" : "desc";
        return (
          <div class="order row" key={index}>
            <Choice
              label="Field to order by"
              value={keyName(order)}
              options={keys.map(keyName)}
              choose={(name) => replace({ ...keys.find((key) => keyName(key) === name), ...rest })}
            />
            <button type="button" class="direction" aria-label={`${order.direction}: switch the direction`} onClick={() => replace({ ...order, direction: other })}>
              {order.direction === "desc" ? <Down /> : <Up />}
              {order.direction}
            </button>
            <label class="inline">
              nulls
              <Choice label="Position of nulls" value={order.nulls ?? "last"} options={["first", "last"]} choose={(nulls) => replace({ ...order, nulls })} />
            </label>
            <IconButton label={`Do not order by ${keyName(order)}`} act={() => write(orders.toSpliced(index, 1))}>
              <Close />
            </IconButton>
          </div>
        );
      })}
      {free && (
        <span class="adders row">
          <AddButton testId="add-order" act={() => write([...orders, { ...free, direction: "asc" }])}>
            Order by
          </AddButton>
        </span>
      )}
    </fieldset>
  );
}
