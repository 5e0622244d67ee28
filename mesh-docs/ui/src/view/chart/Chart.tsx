// A chart of grouped results: bars, or a line if the groups are times. The table has the same values for screen readers.

import { useMemo, useState } from "preact/hooks";
import { barOf, lineOf, pointsOf, rangeOf, type Point } from "../../chart/series";
import { keyNames, readGrouping } from "../../query/group";
import type { Json } from "../../query/json";
import { readQuery } from "../../query/read";
import { emptyNode } from "../../query/tree";
import { resultTab } from "../../run";
import { fieldAt } from "../../schema";
import { schema } from "../../state";
import type { SavedQuery } from "../../storage";
import { Choice } from "../parts/controls";

interface Props {
  list: Json;
  source: string;
  request: SavedQuery;
}

export function Chart({ list, source, request }: Props) {
  const query = useMemo(() => readQuery(request.format, request.query), [request]);
  const grouping = useMemo(() => readGrouping(query?.root ?? emptyNode()), [query]);
  const { aggregates, buckets } = grouping;
  const keys = useMemo(() => keyNames(grouping), [grouping]);
  const names = aggregates.map(({ alias }) => alias);
  const [chosen, setChosen] = useState("");
  const aggregate = names.includes(chosen) ? chosen : (names[0] ?? "");
  const points = useMemo(() => pointsOf(list, source, keys, aggregate), [list, keys, aggregate]);
  const [key = ""] = keys;
  const isTime = keys.length === 1 && (buckets.length === 1 || (schema.value !== null && fieldAt(schema.value, query?.entity, key)?.type === "datetime"));
  const label = `${aggregate} by ${keys.join(", ")}`;
  return (
    <div class="chart column fill" data-testid="chart">
      <div class="chart-head row wrap">
        <label class="row">
          <span class="soft">Values</span>
          <Choice value={aggregate} options={names} choose={setChosen} />
        </label>
        <span class="soft">by {keys.join(", ")}</span>
        <button type="button" class="small" onClick={() => (resultTab.value = "table")}>
          Show the table
        </button>
      </div>
      {points.length === 0 ? <p class="hint pad">There are no groups.</p> : isTime ? <Line points={points} label={label} /> : <Bars points={points} label={label} />}
    </div>
  );
}

interface FigureProps {
  points: Point[];
  label: string;
}

function Bars({ points, label }: FigureProps) {
  const range = rangeOf(points);
  return (
    <div class="bars" role="img" aria-label={`Bars: ${label}`}>
      {points.map((point, index) => {
        const { from, width } = barOf(point.value, range);
        return (
          <div key={index} class="bar-row" title={`${point.label}: ${point.text}`}>
            <span class="bar-label ellipsis">{point.label}</span>
            <svg class="bar-area" width="100%" height="18">
              <rect class="bar" x={`${from}%`} width={`${width}%`} height="18" rx="2" />
            </svg>
            <span class="bar-value">{point.text}</span>
          </div>
        );
      })}
    </div>
  );
}

function Line({ points, label }: FigureProps) {
  const spots = lineOf(points);
  const [least, most] = rangeOf(points);
  const zero = 100 - barOf(0, [least, most]).from;
  return (
    <div class="line" role="img" aria-label={`Line: ${label}`}>
      <div class="line-scale">
        <span>{most}</span>
        <span>{least}</span>
      </div>
      <svg class="line-area" width="100%" height="100%">
        <line class="line-zero" x1="0" x2="100%" y1={`${zero}%`} y2={`${zero}%`} />
        <svg width="100%" height="100%" viewBox="0 0 100 100" preserveAspectRatio="none">
          <polyline class="line-path" points={spots.map(({ x, y }) => `${x},${y}`).join(" ")} />
        </svg>
        {spots.map((spot, index) => (
          <circle key={index} class="line-spot" cx={`${spot.x}%`} cy={`${spot.y}%`} r="4">
            <title>{`${spot.label}: ${spot.text}`}</title>
          </circle>
        ))}
      </svg>
      <div class="line-times">
        <span>{spots[0]?.label}</span>
        {spots.length > 1 && <span>{spots.at(-1)?.label}</span>}
      </div>
    </div>
  );
}
