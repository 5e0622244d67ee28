// The position in the rows of the data browser, and the ways to other pages.

import { answer, failure, hasNext, hasPrevious, page, rows, showFirst, showLast, showNext, showNumber, showPrevious, total } from "../../browse/state";
import { PAGE_SIZE } from "../../browse/view";

export function Pager() {
  const { offset } = page.value;
  const last = offset + rows.value.length;
  const isRead = answer.value !== null && failure.value === null;
  const position = rows.value.length === 0 ? "no rows" : `${offset + 1} to ${last}`;
  const pages = Math.ceil((total.value ?? 0) / PAGE_SIZE);
  return (
    <span class="browse-pager row">
      <button type="button" class="small" aria-label="First page" disabled={!hasPrevious.value} onClick={showFirst}>
        «
      </button>
      <button type="button" class="small" data-testid="rows-previous" aria-label="Previous page" disabled={!hasPrevious.value} onClick={showPrevious}>
        ‹
      </button>
      <span data-testid="position">
        {isRead && position}
        {isRead && total.value !== undefined && ` of ${total.value.toLocaleString("en")}`}
      </span>
      {pages > 1 && (
        <label class="inline">
          page
          <input
            type="number"
            class="first"
            data-testid="page-number"
            min={1}
            max={pages}
            value={Math.ceil(offset / PAGE_SIZE) + 1}
            onChange={(event) => showNumber(Math.min(Math.max(1, event.currentTarget.valueAsNumber || 1), pages))}
          />
        </label>
      )}
      <button type="button" class="small" data-testid="rows-next" aria-label="Next page" disabled={!hasNext.value} onClick={showNext}>
        ›
      </button>
      <button type="button" class="small" aria-label="Last page" data-testid="rows-last" disabled={!hasNext.value} onClick={showLast}>
        »
      </button>
    </span>
  );
}
