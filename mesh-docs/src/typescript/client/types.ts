// A client of a Mesh server, and types that derive results from queries. `mesh-server types` writes this file beside the
// types of a schema. It is equal for all schemas and requires only `fetch` and Web Crypto, which browsers provide on https
// and on localhost.

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The types of an entity. */
export interface EntityTypes {
  /** The fields and computed fields, with the types of their values in results. */
  fields: object;
  /** The name of the id field; `null` if records cannot be read by id. */
  id: string | null;
  /** The kinds of the fields that controls accept, which determine the values they are compared with. */
  kinds: object;
  /** The relations, with their targets. */
  relations: object;
  /** The names of fields that accept files. */
  uploads: string;
  /** The names of writable fields. */
  writable: string;
}
/** The types of all entities of a schema. */
export type SchemaTypes<S> = { [E in keyof S]: EntityTypes };
/** A relation to at most one record. */
export interface One<E> {
  one: E;
}
/** A relation to any number of records. */
export interface Many<E> {
  many: E;
}

type Part<S, E, P extends keyof EntityTypes> = E extends keyof S ? (S[E] extends { [K in P]: infer T } ? T : never) : never;
type Text<T> = T & string;
type Flat<T> = { -readonly [K in keyof T]: T[K] } & {};

// Queries

/** The values that fields are compared with, by kind. */
interface Literals {
  string: string;
  integer: number;
  bigint: number | string;
  number: number;
  decimal: number | string;
  boolean: boolean;
  datetime: string;
  date: string;
  uuid: string;
  scalar: string | number | boolean;
}
type FieldsOf<S, E, Without> = { [F in keyof Part<S, E, "kinds">]: Part<S, E, "kinds">[F] extends Without ? never : Text<F> }[keyof Part<S, E, "kinds">];
type Compared<F, K> = K extends keyof Literals
  ?
      | { readonly field: F; readonly op: "eq" | "ne"; readonly value: Literals[K] }
      | { readonly field: F; readonly op: "in" | "nin"; readonly value: readonly Literals[K][] }
      | (K extends "uuid" ? never : { readonly field: F; readonly op: "gt" | "gte" | "lt" | "lte"; readonly value: Literals[K] })
      | (K extends "string" | "scalar" ? { readonly field: F; readonly op: "like" | "ilike"; readonly value: string } : never)
  : never;
type Tree<Leaf> =
  | Leaf
  | { readonly and: readonly [Tree<Leaf>, ...Tree<Leaf>[]] }
  | { readonly or: readonly [Tree<Leaf>, ...Tree<Leaf>[]] }
  | { readonly not: Tree<Leaf> };
type Leaf<S, E> = {
  [F in keyof Part<S, E, "kinds">]:
    | { readonly field: Text<F>; readonly op: "isNull" | "isNotNull" }
    | Compared<Text<F>, Part<S, E, "kinds">[F]>;
}[keyof Part<S, E, "kinds">];
/** A filter, for `$where`. */
export type Filter<S, E> = Tree<Leaf<S, E>>;
type Operator = "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "in" | "nin" | "like" | "ilike" | "isNull" | "isNotNull";
type Aggregated = { readonly aggregate: string; readonly op: Operator; readonly value?: Json | readonly Json[] };

/** A node for a single record. */
export interface OneNode<S, E> {
  readonly $select: Select<S, E>;
}
type Direction = { readonly direction: "asc" | "desc"; readonly nulls?: "first" | "last" };
type Order<S, E> = { readonly field: FieldsOf<S, E, "json"> } & Direction;
/** A node for a list in a record. */
export interface ManyNode<S, E> extends OneNode<S, E> {
  readonly $where?: Filter<S, E>;
  readonly $orderBy?: readonly Order<S, E>[];
  readonly $page?: { readonly first?: number; readonly after?: null };
}
type Fold<S, E> =
  | { readonly fn: "count"; readonly field?: FieldsOf<S, E, never> | "*"; readonly distinct?: boolean }
  | {
      readonly fn: "sum" | "avg";
      readonly field: FieldsOf<S, E, "string" | "boolean" | "datetime" | "date" | "json" | "binary" | "uuid">;
      readonly distinct?: boolean;
    }
  | { readonly fn: "min" | "max"; readonly field: FieldsOf<S, E, "boolean" | "json" | "binary" | "uuid">; readonly distinct?: boolean };
/** The root node of a query of a collection. */
export interface RootNode<S, E> extends OneNode<S, E> {
  readonly $where?: Filter<S, E>;
  readonly $orderBy?: readonly (Order<S, E> | ({ readonly aggregate: string } & Direction))[];
  readonly $page?: { readonly first?: number; readonly after?: string | null };
  readonly $distinct?: readonly FieldsOf<S, E, "json">[];
  readonly $groupBy?: readonly FieldsOf<S, E, "json">[];
  readonly $aggregate?: { readonly [alias: string]: Fold<S, E> };
  readonly $having?: Tree<Aggregated | Leaf<S, E>>;
}
/** A selection of fields and relations. */
export type Select<S, E> = { readonly [F in keyof Part<S, E, "fields">]?: true } & {
  readonly [R in keyof Part<S, E, "relations">]?: Part<S, E, "relations">[R] extends Many<infer T>
    ? ManyNode<S, T>
    : Part<S, E, "relations">[R] extends One<infer T>
      ? OneNode<S, T>
      : never;
};
/** A query of a collection: one entity with its root node. */
export type Query<S> = { readonly [E in keyof S]?: RootNode<S, E> };
/** A query of one record. */
export type PointQuery<S> = { readonly [E in keyof S as Part<S, E, "id"> extends null ? never : E]?: OneNode<S, E> };

// Checks for unknown names, which types with optional keys only do not refuse

type Target<R> = R extends Many<infer T> ? T : R extends One<infer T> ? T : never;
type Grouped<N> = N extends { readonly $groupBy: readonly (infer F)[] }
  ? F
  : N extends { readonly $distinct: readonly (infer F)[] }
    ? F
    : N extends { readonly $aggregate: object }
      ? never
      : PropertyKey;
type CheckedNode<S, E, N, Controls> = {
  [K in keyof N]: K extends "$select"
    ? {
        [F in keyof N[K]]: F extends Grouped<N>
          ? F extends keyof Part<S, E, "relations">
            ? CheckedNode<S, Target<Part<S, E, "relations">[F]>, N[K][F], Part<S, E, "relations">[F] extends Many<unknown> ? keyof ManyNode<S, E> : "$select">
            : F extends keyof Part<S, E, "fields">
              ? true
              : never
          : never;
      }
    : K extends Controls
      ? unknown
      : never;
};
type Single<T, Whole = T> = T extends unknown ? ([Whole] extends [T] ? T : never) : never;
/**
 * A type that accepts a query if all its names are known; unknown names have the type `never`. A query with another error
 * is inferred as `Query` and reported there.
 */
export type Checked<S, Q, Controls = keyof RootNode<S, keyof S>> = Query<S> extends Q
  ? unknown
  : { [E in keyof Q]: E extends Single<keyof Q> & keyof S ? CheckedNode<S, E, Q[E], Controls> : never };

// Results

type Picked<S, E, P> = Flat<{
  [K in keyof P]: K extends keyof Part<S, E, "fields">
    ? Part<S, E, "fields">[K]
    : K extends keyof Part<S, E, "relations">
      ? P[K] extends { readonly $select: infer Below }
        ? Part<S, E, "relations">[K] extends Many<infer T>
          ? Picked<S, T, Below>[]
          : Picked<S, Target<Part<S, E, "relations">[K]>, Below> | null
        : never
      : never;
}>;
type Folded<S, E, A> = {
  [K in keyof A]: A[K] extends { readonly fn: "count" }
    ? number
    : A[K] extends { readonly fn: "avg" }
      ? number | null
      : A[K] extends { readonly field: infer F extends keyof Part<S, E, "fields"> }
        ? NonNullable<Part<S, E, "fields">[F]> | null
        : never;
};
/** A record or group of exactly the names that the query selects. */
export type Item<S, Q> = {
  [E in keyof Q]: Q[E] extends { readonly $select: infer P }
    ? Q[E] extends { readonly $aggregate: infer A }
      ? Flat<Picked<S, E, P> & Folded<S, E, A>>
      : Picked<S, E, P>
    : never;
}[keyof Q];
/** The result of a query of a collection. */
export interface Page<T> {
  items: T[];
  pageInfo: { hasNextPage: boolean; startCursor: string | null; endCursor: string | null };
}

// Writes

/** The values that can be written to fields, by kind. */
interface Taken extends Literals {
  json: Json;
  binary: string;
}
/** The writable fields of a record. */
export type Fields<S, E> = {
  readonly [F in keyof Part<S, E, "kinds"> & Part<S, E, "writable">]?:
    | Taken[Part<S, E, "kinds">[F] & keyof Taken]
    | (F extends keyof Part<S, E, "fields"> ? Extract<Part<S, E, "fields">[F], null> : never);
};
/** Entities with records that can be created, updated and deleted. */
export type Writable<S> = { [E in keyof S]: [Part<S, E, "writable">] extends [never] ? never : Text<E> }[keyof S];
type Relation<S, E, Kind> = { [R in keyof Part<S, E, "relations">]: Part<S, E, "relations">[R] extends Kind ? Text<R> : never }[keyof Part<S, E, "relations">];
type To<S, E, R> = R extends keyof Part<S, E, "relations"> ? Target<Part<S, E, "relations">[R]> & keyof S : never;
/** A query that selects the result of a write. */
type Shape<S, E extends keyof S> = { readonly [K in E]: OneNode<S, E> };
/** The result of a write: the selection of the query; without a query all fields, but no computed ones. */
type Written<S, E, Q> = [Q] extends [never] ? Flat<Pick<Part<S, E, "fields">, keyof Part<S, E, "kinds"> & keyof Part<S, E, "fields">>> : Item<S, Q>;
