// The picture of the diagram. It is one tab stop; arrow keys choose the next entity in their direction, and Escape chooses none.

import { useEffect } from "preact/hooks";
import { HEAD, LINE, type BoxText } from "../../diagram/boxes";
import { neighborsOf } from "../../diagram/edges";
import type { Box } from "../../diagram/layout";
import { chosen, picture, setZoom, startChosen, zoom, ZOOM_STEP } from "./state";

const DIRECTIONS: Record<string, [number, number]> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

function middle({ x, y, width, height }: Box): [number, number] {
  return [x + width / 2, y + height / 2];
}

/** Returns the box that is next in a direction: near, and not far to the side. */
function nextBox(boxes: readonly Box[], from: Box, [dx, dy]: [number, number]): Box | undefined {
  const [x, y] = middle(from);
  const ranked = boxes.flatMap((box) => {
    const [ahead, aside] = [(middle(box)[0] - x) * dx + (middle(box)[1] - y) * dy, Math.abs((middle(box)[0] - x) * dy) + Math.abs((middle(box)[1] - y) * dx)];
    return box !== from && ahead > 1 ? [{ box, rank: ahead + 2 * aside }] : [];
  });
  return ranked.sort((one, other) => one.rank - other.rank)[0]?.box;
}

export function Picture() {
  const { edges, texts, layout } = picture.value;
  const name = chosen.value?.entity;
  const near = name === undefined ? null : neighborsOf(edges, name);
  useEffect(() => {
    if (name !== undefined) document.getElementById(`box-${name}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [name, layout, zoom.value]);
  const choose = (entity: string): void => {
    chosen.value = { entity };
  };
  const keys = (event: KeyboardEvent): void => {
    const direction = DIRECTIONS[event.key];
    const from = name === undefined ? undefined : layout.boxes.get(name);
    if (direction && from) {
      const next = nextBox([...layout.boxes.values()], from, direction);
      if (next) choose(next.name);
    } else if (direction || event.key === "Home") choose(texts[0]?.name ?? "");
    else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) startChosen();
    else if (event.key === "Escape") chosen.value = null;
    else if (event.key === "+" || event.key === "=") setZoom(zoom.value * ZOOM_STEP);
    else if (event.key === "-") setZoom(zoom.value / ZOOM_STEP);
    else return;
    event.preventDefault();
  };
  const wheel = (event: WheelEvent): void => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const { left = 0, top = 0 } = (event.currentTarget as Element).parentElement?.getBoundingClientRect() ?? {};
    setZoom(zoom.value * (event.deltaY < 0 ? 1.1 : 1 / 1.1), [event.clientX - left, event.clientY - top]);
  };
  return (
    <svg
      class="picture"
      role="listbox"
      aria-label="Entities"
      tabindex={0}
      aria-activedescendant={name === undefined ? undefined : `box-${name}`}
      width={layout.width * zoom.value}
      height={layout.height * zoom.value}
      viewBox={`0 0 ${layout.width} ${layout.height}`}
      data-testid="diagram"
      onKeyDown={keys}
      onWheel={wheel}
    >
      <g aria-hidden="true">
        {edges.map((edge) => {
          const [from, to] = [layout.boxes.get(edge.from), layout.boxes.get(edge.to)];
          if (!from || !to) return null;
          const isChosen = chosen.value?.edge?.id === edge.id;
          const isNear = name === undefined || edge.from === name || edge.to === name;
          const path = layout.paths.get(edge.id);
          return (
            <g key={edge.id} class={`edge ${isChosen ? "chosen" : ""} ${isNear ? "" : "far"}`} data-edge={edge.id} onClick={() => (chosen.value = { entity: edge.from, edge })} onDblClick={startChosen}>
              <title>{`${edge.from}.${edge.relation}: ${edge.isManyToMany ? "many of" : "one of"} ${edge.to}`}</title>
              <path class="edge-area" d={path} />
              <path class="edge-line" d={path} />
              <Ends from={from} to={to} isManyToMany={edge.isManyToMany} />
            </g>
          );
        })}
      </g>
      {texts.map((text) => {
        const box = layout.boxes.get(text.name);
        const isFar = near !== null && !near.has(text.name);
        return box && <EntityBox key={text.name} text={text} box={box} isChosen={text.name === name} isFar={isFar} choose={choose} />;
      })}
    </svg>
  );
}

/** The marks at the ends of an edge: a dot where there are many, a bar where there is one. */
function Ends({ from, to, isManyToMany }: { from: Box; to: Box; isManyToMany: boolean }) {
  if (from === to) return null;
  const isLeft = to.x + to.width <= from.x;
  const isRight = from.x + from.width <= to.x;
  const [x1, x2] = isLeft ? [from.x, to.x + to.width] : [from.x + from.width, isRight ? to.x : to.x + to.width];
  const [y1, y2] = [from.y + from.height / 2, to.y + to.height / 2];
  const inward = isLeft || !isRight ? 6 : -6;
  return (
    <>
      <circle class="end-many" cx={x1} cy={y1} r={3.5} />
      {isManyToMany ? <circle class="end-many" cx={x2} cy={y2} r={3.5} /> : <path class="end-one" d={`M${x2 + inward} ${y2 - 5}v10`} />}
    </>
  );
}

interface BoxProps {
  text: BoxText;
  box: Box;
  isChosen: boolean;
  isFar: boolean;
  choose: (entity: string) => void;
}

function EntityBox({ text, box: { x, y, width, height }, isChosen, isFar, choose }: BoxProps) {
  return (
    <g
      id={`box-${text.name}`}
      role="option"
      aria-selected={isChosen}
      class={`entity-box ${isChosen ? "chosen" : ""} ${isFar ? "far" : ""}`}
      transform={`translate(${x} ${y})`}
      onClick={() => choose(text.name)}
      onDblClick={startChosen}
    >
      <title>{text.hint}</title>
      <rect class="box" width={width} height={height} rx={6} />
      <text class="box-title" x={10} y={HEAD / 2 + 5}>
        {text.title}
      </text>
      {text.lines.length > 0 && <path class="box-rule" d={`M0 ${HEAD}h${width}`} />}
      {text.lines.map(({ name, type, hint, isKey }, index) => (
        <g key={name} transform={`translate(0 ${HEAD + index * LINE})`}>
          <title>{hint}</title>
          <rect fill="none" pointer-events="all" width={width} height={LINE} />
          <text class={isKey ? "box-key" : "box-field"} x={10} y={LINE - 4}>
            {name}
          </text>
          <text class="box-type" x={width - 10} y={LINE - 4} text-anchor="end">
            {type}
          </text>
        </g>
      ))}
    </g>
  );
}
