// The schema as a picture: entities with their fields, and the relations between them.

import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { browse } from "../../browse/state";
import { notify } from "../../notice";
import { schema } from "../../state";
import { Search } from "../parts/icons";
import { saveFile } from "../parts/file";
import { Missing } from "../side/Missing";
import { Picture } from "./Picture";
import { drag, keepPoint, middleOf } from "./place";
import { chosen, isFocused, kept, matches, picture, setZoom, startChosen, wanted, zoom, ZOOM_STEP } from "./state";

/** The least zoom at which names are readable. A picture begins with it, even if it does not fit then. */
const READABLE = 0.8;
const ZOOM_FIT_MAX = 1.2;

export function Diagram() {
  const host = useRef<HTMLDivElement>(null);
  const fit = (least = 0): void => {
    const element = host.current;
    const { width, height } = picture.value.layout;
    if (element && width > 0) setZoom(Math.max(Math.min(element.clientWidth / width, element.clientHeight / height, ZOOM_FIT_MAX), least));
  };
  const lastZoom = useRef(zoom.value);
  useLayoutEffect(() => {
    const { width, height } = picture.value.layout;
    const [before, after] = [lastZoom.current, zoom.value];
    lastZoom.current = after;
    const element = host.current;
    if (element && before !== after) keepPoint(element, [width * before, height * before], [width * after, height * after], kept ?? middleOf(element));
  }, [zoom.value]);
  useEffect(() => fit(READABLE), [schema.value, picture.value.layout]);
  if (!schema.value) return <Missing />;
  const choice = chosen.value;
  const find = (text: string): void => {
    wanted.value = text;
    const [first] = matches.value;
    if (text.trim() !== "" && first !== undefined) chosen.value = { entity: first };
  };
  const isSearch = wanted.value.trim() !== "";
  const found = matches.value.indexOf(choice?.entity ?? "");
  const findNext = (event: KeyboardEvent): void => {
    const next = matches.value[(found + 1) % matches.value.length];
    if (event.key === "Enter" && isSearch && next !== undefined) chosen.value = { entity: next };
  };
  const save = (): void => {
    const svg = host.current?.querySelector("svg");
    if (!svg) return;
    saveFile(new Blob([standalone(svg)]), "schema.svg", "image/svg+xml");
    notify("schema.svg downloaded");
  };
  return (
    <section class="diagram column" aria-label="Diagram of the schema">
      <div class="browse-head row wrap" role="toolbar" aria-label="Diagram tools">
        <label class="search row">
          <Search />
          <span class="hidden">Search the diagram</span>
          <input type="search" data-testid="diagram-search" placeholder="Search entities" value={wanted.value} onInput={(event) => find(event.currentTarget.value)} onKeyDown={findNext} />
        </label>
        {isSearch && (
          <span class="hint" role="status" data-testid="diagram-matches" title="Enter chooses the next">
            {matches.value.length === 0 ? "No matches" : found >= 0 ? `${found + 1} of ${matches.value.length}` : `${matches.value.length} found`}
          </span>
        )}
        <span class="browse-pager row">
          <button type="button" class="small" aria-label="Smaller" onClick={() => setZoom(zoom.value / ZOOM_STEP)}>
            −
          </button>
          <button type="button" class="small" data-testid="fit" onClick={() => fit()}>
            Fit
          </button>
          <button type="button" class="small" aria-label="Larger" onClick={() => setZoom(zoom.value * ZOOM_STEP)}>
            +
          </button>
        </span>
        <button type="button" class="small" data-testid="neighbors" aria-pressed={isFocused.value} disabled={!choice} title={choice ? "" : "Choose an entity first"} onClick={() => (isFocused.value = !isFocused.value)}>
          Only its neighbors
        </button>
        <button type="button" class="small" data-testid="save-svg" onClick={save}>
          Save as SVG
        </button>
        {choice && (
          <span class="browse-tools row" data-testid="chosen">
            <code class="ellipsis">
              {choice.entity}
              {choice.edge && <span class="relate">.{choice.edge.relation}</span>}
            </code>
            <button type="button" class="primary" onClick={startChosen}>
              Query
            </button>
            <button type="button" onClick={() => browse(choice.entity)}>
              Rows
            </button>
          </span>
        )}
      </div>
      <div
        class="diagram-scroll fill"
        ref={host}
        tabIndex={0}
        role="region"
        aria-label="Picture of the schema"
        onPointerDown={(event) => drag(event.currentTarget, event, () => (chosen.value = null))}
      >
        <Picture />
      </div>
    </section>
  );
}

const SVG = "http://www.w3.org/2000/svg";
/** What a file has as attributes, because it does not have the styles of the page. */
const PRESENTATION = ["fill", "stroke", "stroke-width", "font-family", "font-size", "font-weight", "opacity"];

/** Returns the picture as a file of its own, with the colors of the page. */
function standalone(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const originals = [svg, ...svg.querySelectorAll<SVGElement>("*")];
  const copies = [copy, ...copy.querySelectorAll<SVGElement>("*")];
  originals.forEach((element, index) => {
    const style = getComputedStyle(element);
    // The policy of the page forbids inline styles.
    for (const name of PRESENTATION) copies[index]?.setAttribute(name, style.getPropertyValue(name).replaceAll('"', "'"));
  });
  const ground = document.createElementNS(SVG, "rect");
  const attributes = { width: "100%", height: "100%", fill: svg.parentElement ? getComputedStyle(svg.parentElement).backgroundColor : "none" };
  for (const [name, value] of Object.entries(attributes)) ground.setAttribute(name, value);
  copy.prepend(ground);
  copy.setAttribute("xmlns", SVG);
  return new XMLSerializer().serializeToString(copy);
}
