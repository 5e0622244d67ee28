// A splitter that resizes a pane by dragging or arrow keys.

import { useRef } from "preact/hooks";
import { widths } from "../../storage";

const STEP = 24;
const LEAST = 200;

export function Splitter({ part, label }: { part: "side" | "query"; label: string }) {
  const edge = useRef<HTMLDivElement>(null);
  const pane = (): HTMLElement | null => edge.current?.parentElement ?? null;
  const most = (): number => Math.round(window.innerWidth * 0.6);
  const set = (width: number): void => {
    widths.value = { ...widths.value, [part]: Math.round(Math.min(Math.max(width, LEAST), most())) };
  };
  const drag = (event: PointerEvent): void => {
    const [start, width] = [event.clientX, pane()?.offsetWidth ?? LEAST];
    const move = (to: PointerEvent): void => set(width + to.clientX - start);
    const end = (): void => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", end);
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", end);
    event.preventDefault();
  };
  const keys = (event: KeyboardEvent): void => {
    const step = { ArrowLeft: -STEP, ArrowRight: STEP }[event.key];
    if (step !== undefined) set((pane()?.offsetWidth ?? LEAST) + step);
    else if (event.key === "Home") widths.value = { ...widths.value, [part]: undefined };
    else return;
    event.preventDefault();
  };
  return (
    <div
      ref={edge}
      class="splitter"
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuemin={LEAST}
      aria-valuemax={most()}
      aria-valuenow={widths.value[part] ?? pane()?.offsetWidth ?? LEAST}
      tabIndex={0}
      data-testid={`split-${part}`}
      onPointerDown={drag}
      onDblClick={() => (widths.value = { ...widths.value, [part]: undefined })}
      onKeyDown={keys}
    />
  );
}
