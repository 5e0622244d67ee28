// Which part of the picture is in view: dragging moves it, and zooming keeps the point under the pointer, or the middle.

/** A point of the view, from its upper left corner. */
export type Point = [x: number, y: number];

export function middleOf({ clientWidth, clientHeight }: Element): Point {
  return [clientWidth / 2, clientHeight / 2];
}

/** Returns the scroll offset at which the point of the picture that was at `at` is there again after a change of size. */
function offsetAfter(offset: number, view: number, before: number, after: number, at: number): number {
  // A picture that is smaller than its view is centered.
  const point = (offset + at - Math.max(0, (view - before) / 2)) / before;
  return point * after + Math.max(0, (view - after) / 2) - at;
}

/** Scrolls so that a point of the view shows what it did before the picture changed from one size to another. */
export function keepPoint(view: Element, [oldWidth, oldHeight]: Point, [width, height]: Point, [x, y]: Point): void {
  view.scrollTo(offsetAfter(view.scrollLeft, view.clientWidth, oldWidth, width, x), offsetAfter(view.scrollTop, view.clientHeight, oldHeight, height, y));
}

/** How far a pointer may move in a click. */
const CLICK_MAX = 3;

/** Moves the picture with the pointer from its ground, or calls `click` if the pointer stays. Touch screens scroll by themselves. */
export function drag(view: Element, start: PointerEvent, click: () => void): void {
  const { left, top } = view.getBoundingClientRect();
  const isScrollbar = start.clientX - left >= view.clientWidth || start.clientY - top >= view.clientHeight;
  if (start.button !== 0 || isScrollbar || (start.target as Element).closest(".entity-box, .edge")) return;
  const [fromLeft, fromTop] = [view.scrollLeft, view.scrollTop];
  let isMoved = false;
  const move = ({ clientX, clientY, pointerType }: PointerEvent): void => {
    const [x, y] = [clientX - start.clientX, clientY - start.clientY];
    isMoved ||= Math.hypot(x, y) > CLICK_MAX;
    if (isMoved && pointerType === "mouse") view.scrollTo(fromLeft - x, fromTop - y);
  };
  const listening = new AbortController();
  const { signal } = listening;
  window.addEventListener("pointermove", move, { signal });
  window.addEventListener("pointercancel", () => listening.abort(), { signal });
  window.addEventListener(
    "pointerup",
    () => {
      listening.abort();
      if (!isMoved) click();
    },
    { signal },
  );
}
