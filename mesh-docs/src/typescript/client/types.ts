// A client of a Mesh server, and types that derive results from queries. `mesh-server types` writes this file beside the
// types of a schema. It is equal for all schemas and requires only `fetch` and Web Crypto, which browsers provide on https
// and on localhost.

/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** The id of a record. That of several fields is an array of their values in the order of the schema's `idField`. */
export type RecordId = string | number | readonly (string | number | boolean)[];

/** The types of an entity. */
export interface EntityTypes {
  /** The fields and computed fields, with the types of their values in results. */
  fields: object;
  /** The name of the id field, or the names of several; `null` if records cannot be read by id. */
  id: string | readonly string[] | null;
  /** The kinds of the fields that controls accept, which determine the values they are compared with. */
  kinds: object;
  /** The relations, with their targets. */
  relations: object;
  /** The names of fields that accept files. */
  uploads: string;
  /** The names of the fields that new records may have. */
  creatable: string;
  /** The names of the fields that may be changed. */
  updatable: string;
  /** Whether records may be deleted. */
  deletable: boolean;
  /** The fields that a new record must have. */
  required: string;
}
/** The types of all entities of a schema. */
export type SchemaTypes<S> = { [E in keyof S]: EntityTypes };
/** A relation to at most one record. */
export interface One<E> {
  one: E;
}
/** A relation to any number of records. A new record in it gets its value of the field `Link` from the relation. */
export interface Many<E, Link = unknown> {
  many: E;
  link: Link;
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
    | { readonly field: Text<F>; readonly op: "isNull" | "isNotNull"; readonly value?: null | undefined }
    | Compared<Text<F>, Part<S, E, "kinds">[F]>;
}[keyof Part<S, E, "kinds">];
/** A filter, for `$where`. */
export type Filter<S, E> = Tree<Leaf<S, E>>;
/** Any text. The empty one makes TypeScript 5.0 infer texts exactly, as later versions do. */
type Alias = "" | (string & {});
type Value = Exclude<Json, null>;
type Aggregated<A> =
  | { readonly aggregate: A; readonly op: "isNull" | "isNotNull"; readonly value?: null | undefined }
  | { readonly aggregate: A; readonly op: "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "like" | "ilike"; readonly value: Value }
  | { readonly aggregate: A; readonly op: "in" | "nin"; readonly value: readonly Value[] };

/** A node for a single record. */
export interface OneNode<S, E> {
  readonly $select: Select<S, E>;
}
type Direction = { readonly direction: "asc" | "desc"; readonly nulls?: "first" | "last" };
type Order<F> = { readonly field: F } & Direction;
type AggregateOrder<A> = { readonly aggregate: A } & Direction;
/** A node for a list in a record. */
export interface ManyNode<S, E> extends OneNode<S, E> {
  readonly $where?: Filter<S, E> | undefined;
  readonly $orderBy?: readonly Order<FieldsOf<S, E, "json">>[] | undefined;
  readonly $page?: { readonly first?: number | undefined; readonly after?: null | undefined } | undefined;
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
  readonly $where?: Filter<S, E> | undefined;
  readonly $orderBy?: readonly (Order<FieldsOf<S, E, "json">> | AggregateOrder<Alias>)[] | undefined;
  readonly $page?: { readonly first?: number | undefined; readonly after?: string | null | undefined } | undefined;
  readonly $distinct?: readonly FieldsOf<S, E, "json">[];
  readonly $groupBy?: readonly FieldsOf<S, E, "json">[];
  readonly $aggregate?: { readonly [alias: string]: Fold<S, E> };
  readonly $having?: Tree<Aggregated<Alias> | Leaf<S, E>>;
}
/** A selection of fields and relations; `undefined` selects nothing. */
export type Select<S, E> = { readonly [F in keyof Part<S, E, "fields">]?: true | undefined } & {
  readonly [R in keyof Part<S, E, "relations">]?:
    | (Part<S, E, "relations">[R] extends Many<infer T> ? ManyNode<S, T> : Part<S, E, "relations">[R] extends One<infer T> ? OneNode<S, T> : never)
    | undefined;
};
/** A query of a collection: one entity with its root node. */
export type Query<S> = { readonly [E in keyof S]?: RootNode<S, E> };
/** A query of one record. */
export type PointQuery<S> = { readonly [E in keyof S as Part<S, E, "id"> extends null ? never : E]?: OneNode<S, E> };

// Checks of what the types above let pass: unknown names, and rules between the parts of a node

/** The type of a part that the server would refuse. */
export interface Refused<Why extends string> {
  readonly refused: Why;
}
type Target<R> = R extends Many<infer T> ? T : R extends One<infer T> ? T : never;
type Grouping = { readonly $groupBy: unknown } | { readonly $aggregate: unknown };
type Aliases<N> = N extends { readonly $aggregate: infer A } ? Text<keyof A> : never;
/** The fields that a grouped or distinct list can select, order and filter by. */
type Keys<N> = N extends { readonly $groupBy: readonly (infer F)[] }
  ? F
  : N extends { readonly $distinct: readonly (infer F)[] }
    ? F
    : N extends { readonly $aggregate: unknown }
      ? never
      : PropertyKey;
type NotEmpty<T, Why extends string> = T extends readonly [] ? Refused<Why> : unknown;
type CheckedControl<S, E, N, K> = K extends "$having"
  ? N extends Grouping
    ? Tree<Aggregated<Aliases<N>> | Extract<Leaf<S, E>, { readonly field: Keys<N> }>>
    : Refused<"$having needs $groupBy or $aggregate">
  : K extends "$orderBy"
    ? readonly (Order<FieldsOf<S, E, "json"> & Keys<N>> | AggregateOrder<Aliases<N>>)[] | undefined
    : K extends "$distinct"
      ? N extends Grouping
        ? Refused<"$distinct cannot be combined with $groupBy or $aggregate">
        : NotEmpty<At<N, K>, "$distinct is empty">
      : K extends "$groupBy"
        ? NotEmpty<At<N, K>, "$groupBy is empty">
        : K extends "$aggregate"
          ? [Aliases<N>] extends [never]
            ? Refused<"$aggregate is empty">
            : { readonly [A in Aliases<N>]: A extends AllKeys<At<N, "$select">> ? Refused<"the alias is also selected"> : unknown }
          : unknown;
/** The keys of all members of a union, and the type of one of them. */
type AllKeys<T> = T extends object ? keyof T : never;
type At<T, K> = T extends { readonly [P in K & PropertyKey]?: infer V } ? V : never;
type CheckedSelect<S, E, N, P> = [AllKeys<P>] extends [never]
  ? N extends { readonly $aggregate: unknown }
    ? unknown
    : Refused<"$select is empty; that is allowed beside $aggregate only">
  : {
      readonly [F in AllKeys<P>]?: F extends Keys<N>
        ? F extends keyof Part<S, E, "relations">
          ? CheckedNode<S, Target<Part<S, E, "relations">[F]>, At<P, F>, Part<S, E, "relations">[F] extends Many<unknown> ? keyof ManyNode<S, E> : "$select"> | undefined
          : F extends keyof Part<S, E, "fields">
            ? true | undefined
            : never
        : never;
    };
type CheckedNode<S, E, N, Controls> = {
  readonly [K in AllKeys<N>]?: K extends "$select" ? CheckedSelect<S, E, N, At<N, K>> : K extends Controls ? CheckedControl<S, E, N, K> : never;
};
type Single<T, Whole = T> = T extends unknown ? ([Whole] extends [T] ? T : never) : never;
/**
 * A type that accepts a query if all its names are known and its parts fit together; unknown names have the type `never`.
 * A query with another error is inferred as `Query` and reported there.
 */
export type Checked<S, Q, Controls = keyof RootNode<S, keyof S>> = Query<S> extends Q
  ? unknown
  : { [E in keyof Q]: E extends Single<keyof Q> & keyof S ? CheckedNode<S, E, Q[E], Controls> : never };

// Results

/** What a name selects; `undefined` where the query may not select it. */
type Picked<S, E, P> = Flat<{ [K in keyof P]: PickedValue<S, E, K, P[K]> }>;
type PickedValue<S, E, K, V> = V extends undefined
  ? undefined
  : K extends keyof Part<S, E, "fields">
    ? Part<S, E, "fields">[K]
    : K extends keyof Part<S, E, "relations">
      ? V extends { readonly $select: infer Below }
        ? Part<S, E, "relations">[K] extends Many<infer T>
          ? Picked<S, T, Below>[]
          : Picked<S, Target<Part<S, E, "relations">[K]>, Below> | null
        : never
      : never;
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
/** The fields that a write may set: those of a new record, or those that may be changed. */
export type Fields<S, E, Kind extends "creatable" | "updatable"> = {
  readonly [F in keyof Part<S, E, "kinds"> & Part<S, E, Kind>]?:
    | Taken[Part<S, E, "kinds">[F] & keyof Taken]
    | (F extends keyof Part<S, E, "fields"> ? Extract<Part<S, E, "fields">[F], null> : never);
};
/** The fields of a new record. Those that a relation sets may be left out. */
export type NewFields<S, E, Set = never> = Fields<S, E, "creatable"> &
  Required<Pick<Fields<S, E, "creatable">, Exclude<Part<S, E, "required">, Set> & keyof Fields<S, E, "creatable">>>;
/** Entities with records that can be created, or updated. */
export type Writable<S, Kind extends "creatable" | "updatable"> = { [E in keyof S]: [Part<S, E, Kind>] extends [never] ? never : Text<E> }[keyof S];
/** Entities with records that can be deleted. */
export type Deletable<S> = { [E in keyof S]: Part<S, E, "deletable"> extends true ? Text<E> : never }[keyof S];
type Relation<S, E, Kind> = { [R in keyof Part<S, E, "relations">]: Part<S, E, "relations">[R] extends Kind ? Text<R> : never }[keyof Part<S, E, "relations">];
type Link<S, E, R> = R extends keyof Part<S, E, "relations"> ? (Part<S, E, "relations">[R] extends Many<unknown, infer F> ? Extract<F, string> : never) : never;
type To<S, E, R> = R extends keyof Part<S, E, "relations"> ? Target<Part<S, E, "relations">[R]> & keyof S : never;
/** A type that accepts a query of the result of a write, which is a record of `E`. */
type Shape<S, E, Q> = Checked<S, Q, "$select"> & { [K in keyof Q]: K extends E ? unknown : never };
/** The result of a write: the selection of the query; without a query all fields, but no computed ones. */
type Written<S, E, Q> = [Q] extends [never] ? Flat<Pick<Part<S, E, "fields">, keyof Part<S, E, "kinds"> & keyof Part<S, E, "fields">>> : Item<S, Q>;
