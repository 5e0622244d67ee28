// The conditions of the data browser.

import { setFilters, view } from "../../browse/state";
import type { Filter } from "../../query/filter";
import { entityOf } from "../../schema";
import { schema } from "../../state";
import { ConditionRow } from "../query/ConditionRow";

/** The pause in typing after which rows are read. */
const TYPE_DELAY_MS = 350;

export function Filters() {
  const [known, shown] = [schema.value, view.value];
  const entity = known && shown ? entityOf(known, shown.entity) : undefined;
  if (!known || !shown || !entity || shown.filters.length === 0) return null;
  const replace = (index: number, next: Filter | undefined): void => {
    setFilters(next ? shown.filters.with(index, next) : shown.filters.toSpliced(index, 1), next ? TYPE_DELAY_MS : 0);
  };
  return (
    <div class="browse-filters" role="group" aria-label="Filters" data-testid="filters">
      {shown.filters.map((filter, index) =>
        filter.kind === "condition" ? (
          <ConditionRow key={index} filter={filter} entity={entity} operators={known.query.filterOperators} isLiteral change={(next) => replace(index, next)} />
        ) : null,
      )}
      {shown.filters.length > 1 && (
        <button type="button" class="small" onClick={() => setFilters([])}>
          Remove all
        </button>
      )}
    </div>
  );
}
