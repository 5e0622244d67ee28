// What the diagram shows: the entities, which of them is chosen, and the zoom.

import { computed, signal } from "@preact/signals";
import { boxText } from "../../diagram/boxes";
import { edgesOf, neighborsOf, type Edge } from "../../diagram/edges";
import { layOut } from "../../diagram/layout";
import { toggle } from "../../query/edit";
import { entityOf, type Entity } from "../../schema";
import { change, mode, schema, startQuery } from "../../state";
import type { Point } from "./place";

/** The entity or edge that is chosen. */
export const chosen = signal<{ entity: string; edge?: Edge } | null>(null);
/** Whether only the chosen entity and its neighbors are shown. */
export const isFocused = signal(false);
export const wanted = signal("");
export const zoom = signal(1);

const all = computed((): Entity[] => schema.value?.entities ?? []);
const shown = computed((): Entity[] => {
  const name = chosen.value?.entity;
  if (!isFocused.value || name === undefined) return all.value;
  const near = neighborsOf(edgesOf(all.value), name);
  return all.value.filter((entity) => near.has(entity.name));
});
export const picture = computed(() => {
  const edges = edgesOf(shown.value);
  const texts = shown.value.map((entity) => boxText(entity, shown.value.length));
  return { edges, texts, layout: layOut(texts, edges, texts.some(({ lines }) => lines.length > 0)) };
});
/** The entities whose names contain the searched text, the best first. */
export const matches = computed(() => {
  const text = wanted.value.trim().toLowerCase();
  const rank = (name: string): number => (name === text ? 0 : name.startsWith(text) ? 1 : name.includes(text) ? 2 : 3);
  const ranked = all.value.map(({ name }) => ({ name, rank: rank(name.toLowerCase()) })).filter((one) => one.rank < 3);
  return ranked.sort((one, other) => one.rank - other.rank).map(({ name }) => name);
});

export const ZOOM_STEP = 1.25;
/** The point of the view that the last change of the zoom keeps; its middle if there is none. */
export let kept: Point | undefined;

/** Changes the zoom. The given point of the view, or its middle, shows the same after it. */
export function setZoom(next: number, at?: Point): void {
  kept = at;
  zoom.value = Math.min(Math.max(next, 0.15), 3);
}

/** Starts a query of the chosen entity, with the relation of the chosen edge. */
export function startChosen(): void {
  const [known, choice] = [schema.value, chosen.value];
  if (!known || !choice) return;
  mode.value = "query";
  startQuery(choice.entity);
  const relation = choice.edge?.relation;
  const entity = entityOf(known, choice.entity);
  if (relation === undefined || !entity) return;
  change((query) => (query.root.select.some(({ name }) => name === relation) ? query : toggle(known, query, entity.name, [], relation)));
}
