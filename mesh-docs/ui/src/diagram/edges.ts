// The edges of the diagram: one for each pair of relations that are two directions of the same link.

import { idFields, type Entity } from "../schema";

export interface Edge {
  id: string;
  /** The entity that has the relation; of a link to one record, the side with many. */
  from: string;
  to: string;
  /** The relation of `from`. */
  relation: string;
  /** Whether each side has many records of the other. */
  isManyToMany: boolean;
}

/**
 * Returns the edges between entities. A relation to many records is part of the edge of its inverse, or of the edges of the entity
 * whose records are the links, if that is visible.
 */
export function edgesOf(entities: readonly Entity[]): Edge[] {
  const names = new Set(entities.map(({ name }) => name));
  const edges: Edge[] = [];
  const add = (from: string, relation: string, to: string, isManyToMany: boolean): void => {
    edges.push({ id: `${from}.${relation}`, from, to, relation, isManyToMany });
  };
  for (const { name, joins } of entities) {
    for (const { name: relation, entity, type } of joins) if (type === "one" && names.has(entity)) add(name, relation, entity, false);
  }
  const isLinked = (one: string, other: string): boolean => edges.some(({ from, to }) => from === one && to === other);
  const links = entities.filter((entity) => idFields(entity).length > 1);
  const hasLinks = (one: string, other: string): boolean => links.some(({ name }) => isLinked(name, one) && isLinked(name, other));
  for (const { name, joins } of entities) {
    for (const { name: relation, entity, type } of joins) {
      if (type === "many" && names.has(entity) && !isLinked(entity, name) && !isLinked(name, entity) && !hasLinks(name, entity)) add(name, relation, entity, true);
    }
  }
  return edges;
}

/** Returns the names of entities that an edge leads to from an entity, and its own. */
export function neighborsOf(edges: readonly Edge[], name: string): Set<string> {
  return new Set([name, ...edges.flatMap(({ from, to }) => (from === name ? [to] : to === name ? [from] : []))]);
}
