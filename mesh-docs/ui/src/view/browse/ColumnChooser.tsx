// The choice of the columns of the data browser.

import { allColumns, firstColumns } from "../../browse/columns";
import { setColumns, view } from "../../browse/state";
import { entityOf } from "../../schema";
import { schema } from "../../state";
import { usePopover } from "../parts/popover";

export function ColumnChooser() {
  const { isOpen, host, toggle: toggleOpen, keys } = usePopover();
  const [known, shown] = [schema.value, view.value];
  const entity = known && shown ? entityOf(known, shown.entity) : undefined;
  if (!known || !shown || !entity) return null;
  const all = allColumns(known, entity);
  const toggle = (name: string): void => {
    const names = shown.columns.includes(name) ? shown.columns.filter((one) => one !== name) : [...shown.columns, name];
    setColumns(names);
  };
  const isOnly = (name: string): boolean => shown.columns.length === 1 && shown.columns[0] === name;
  return (
    <span class="menu" ref={host} onKeyDown={keys}>
      <button type="button" class="quiet" aria-expanded={isOpen} data-testid="columns" onClick={toggleOpen}>
        Columns <span class="count">{shown.columns.length}</span>
      </button>
      {isOpen && (
        <fieldset class="menu-list column-list">
          <legend class="hidden">Columns</legend>
          {all.map(({ name, kind }) => (
            <label key={name} class="column-choice row">
              <input type="checkbox" data-column={name} checked={shown.columns.includes(name)} disabled={isOnly(name)} title={isOnly(name) ? "At least one column is shown" : ""} onChange={() => toggle(name)} />
              <span class={kind === "field" ? "ellipsis" : "relate ellipsis"}>{name}</span>
              {kind === "many" && <span class="hint">number</span>}
            </label>
          ))}
          <button type="button" class="small" onClick={() => setColumns(firstColumns(known, entity))}>
            Default columns
          </button>
        </fieldset>
      )}
    </span>
  );
}
