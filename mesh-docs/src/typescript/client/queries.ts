// Queries

/** Any text. The empty one makes TypeScript 5.0 infer texts exactly, as later versions do. */
type Alias = "" | (string & {});
/** A parameter in place of a value; the calls that send the query have the value in `params`. */
export interface Param<N = Alias> {
  readonly $param: N;
}
type Or<T> = T | Param;

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
type Sortable = keyof Literals | "binary";
type Numeric = "integer" | "bigint" | "number" | "decimal" | "scalar";
/** The fields of some kinds. */
type FieldsOf<S, E, Kinds> = { [F in keyof Part<S, E, "kinds">]: Part<S, E, "kinds">[F] extends Kinds ? Text<F> : never }[keyof Part<S, E, "kinds">];
/** The fields of some kinds, and the paths to such fields through at most as many to-one relations as `Hops` is long. */
type Paths<S, E, Kinds, Hops> =
  | FieldsOf<S, E, Kinds>
  | (Hops extends readonly [unknown, ...infer Rest]
      ? {
          [R in keyof Part<S, E, "relations">]: Part<S, E, "relations">[R] extends One<infer T> ? `${Text<R>}.${Paths<S, T, Kinds, Rest>}` : never;
        }[keyof Part<S, E, "relations">]
      : never);
/** The paths that are listed. Longer ones are accepted by their form, and `Checked` follows them. */
type Hops = [1, 1];
type LongPath = `${string}.${string}.${string}.${string}`;

/** Keys that conditions of another form have. */
interface OnField {
  readonly at?: undefined;
  readonly relation?: undefined;
  readonly where?: undefined;
  readonly search?: undefined;
}
type NullTest<F> = { readonly field: F; readonly op: "isNull" | "isNotNull"; readonly value?: null | undefined };
type Compared<F, K> = [F] extends [never]
  ? never
  : K extends keyof Literals
    ?
        | { readonly field: F; readonly op: "eq" | "ne"; readonly value: Or<Literals[K]> }
        | { readonly field: F; readonly op: "in" | "nin"; readonly value: Or<readonly Or<Literals[K]>[]> }
        | (K extends "uuid" ? never : { readonly field: F; readonly op: "gt" | "gte" | "lt" | "lte"; readonly value: Or<Literals[K]> })
        | (K extends "string" | "scalar" ? { readonly field: F; readonly op: "like" | "ilike"; readonly value: Or<string> } : never)
    : never;
type Tree<Leaf> =
  | Leaf
  | { readonly and: readonly [Tree<Leaf>, ...Tree<Leaf>[]] }
  | { readonly or: readonly [Tree<Leaf>, ...Tree<Leaf>[]] }
  | { readonly not: Tree<Leaf> };
/** A condition on a field, one rule for each kind of field. */
type FieldTest<S, E, H, Only = string> = OnField &
  (
    | NullTest<Paths<S, E, keyof Literals | "json" | "binary", H> & Only>
    | { [K in keyof Literals]: Compared<Paths<S, E, K, H> & Only, K> }[keyof Literals]
  );
type Pointer = "" | `/${string}`;
type ScalarLists = Param | readonly Or<string>[] | readonly Or<number>[] | readonly Or<boolean>[];
/** What an array in a JSON field is tested for. */
type Elements =
  | { readonly op: "has"; readonly value: Or<string | number | boolean> }
  | { readonly op: "hasAny" | "hasAll"; readonly value: ScalarLists };
/** A condition on the elements of a field. */
type ElementTest<F> = OnField & { readonly field: F } & Elements;
/** A condition on the value at a JSON Pointer in a field. */
type JsonTest<F> = { readonly field: F; readonly at: Pointer; readonly relation?: undefined; readonly where?: undefined; readonly search?: undefined } & (
  | Elements
  | { readonly op: "isNull" | "isNotNull"; readonly value?: null | undefined }
  | { readonly op: "eq" | "ne" | "gt" | "gte" | "lt" | "lte"; readonly value: Or<string | number | boolean> }
  | { readonly op: "like" | "ilike"; readonly value: Or<string> }
  | { readonly op: "in" | "nin"; readonly value: ScalarLists }
);
type LongTest = { readonly field: LongPath; readonly op: JsonTest<0>["op"]; readonly value?: unknown; readonly at?: Pointer };
/** A condition on the records of a relation. */
type RelationTest<S, E> = {
  [R in keyof Part<S, E, "relations">]: { readonly relation: Text<R>; readonly field?: undefined; readonly value?: undefined; readonly search?: undefined } & (
    | { readonly op: "some" | "none"; readonly where?: Filter<S, Target<Part<S, E, "relations">[R]>> | undefined }
    | { readonly op: "every"; readonly where: Filter<S, Target<Part<S, E, "relations">[R]>> }
  );
}[keyof Part<S, E, "relations">];
/** A search for words: all of them, `"a phrase"`, `prefix*`, and none that is excluded by `-`. */
type SearchTest<S, E> = [Part<S, E, "search">] extends [never] ? never : { readonly search: Or<string>; readonly field?: undefined; readonly relation?: undefined };
/** A filter, for `$where`. */
export type Filter<S, E> = Tree<FieldTest<S, E, Hops> | JsonTest<Paths<S, E, "json", Hops>> | ElementTest<Paths<S, E, "json", Hops>> | LongTest | RelationTest<S, E> | SearchTest<S, E>>;
type Value = Exclude<Json, null>;
type Aggregated<A> =
  | { readonly aggregate: A; readonly op: "isNull" | "isNotNull"; readonly value?: null | undefined }
  | { readonly aggregate: A; readonly op: "eq" | "ne" | "gt" | "gte" | "lt" | "lte" | "like" | "ilike"; readonly value: Or<Value> }
  | { readonly aggregate: A; readonly op: "in" | "nin"; readonly value: Param | readonly Or<Value>[] };

type Direction = { readonly direction: "asc" | "desc"; readonly nulls?: "first" | "last" };
type Order<F> = { readonly field: F } & Direction;
type AggregateOrder<A> = { readonly aggregate: A } & Direction;
/** How well a record matches the search of `$where`, the best first. */
type RelevanceOrder<S, E> = [Part<S, E, "search">] extends [never] ? never : { readonly search: "relevance"; readonly direction?: undefined; readonly nulls?: undefined };
type RelationOrder<S, E> = {
  [R in keyof Part<S, E, "relations">]: Part<S, E, "relations">[R] extends Many<infer T>
    ? { readonly relation: Text<R>; readonly aggregate: Fold<S, T> } & Direction
    : never;
}[keyof Part<S, E, "relations">];
type OrderKey<S, E> = Order<Paths<S, E, Sortable, Hops> | LongPath> | RelationOrder<S, E> | AggregateOrder<Alias> | Order<Alias>;
type Fold<S, E> =
  | { readonly fn: "count"; readonly field?: FieldsOf<S, E, Sortable | "json"> | "*"; readonly distinct?: false }
  | { readonly fn: "count"; readonly field: FieldsOf<S, E, Sortable>; readonly distinct: boolean }
  | { readonly fn: "sum" | "avg"; readonly field: FieldsOf<S, E, Numeric>; readonly distinct?: boolean }
  | { readonly fn: "min" | "max"; readonly field: FieldsOf<S, E, Exclude<keyof Literals, "boolean" | "uuid">>; readonly distinct?: boolean };
type DayUnit = "year" | "quarter" | "month" | "week" | "day";
/** A group key that is a period of time; its value is text, or `null`. */
type Bucket<S, E> = { readonly as: Alias } & (
  | { readonly field: FieldsOf<S, E, "datetime" | "date">; readonly by: DayUnit; readonly zone?: undefined }
  | { readonly field: FieldsOf<S, E, "datetime">; readonly by: DayUnit; readonly zone: string }
  | { readonly field: FieldsOf<S, E, "datetime">; readonly by: "hour" | "minute"; readonly zone?: undefined }
);
type BucketTest<A> = OnField & (NullTest<A> | Compared<A, "string">);
type Forward<Cursor> = {
  readonly first?: Or<number> | undefined;
  readonly last?: undefined;
  readonly before?: undefined;
} & ({ readonly after?: Cursor | undefined; readonly skip?: undefined } | { readonly skip: Or<number>; readonly after?: undefined });
interface Backward {
  readonly last: Or<number>;
  readonly first?: undefined;
  readonly after?: undefined;
  readonly skip?: undefined;
}

/** A node for a single record. `Open` selections may have aliases. */
export interface OneNode<S, E, Open = false> {
  readonly $select: Select<S, E, Open>;
}
interface ListNode<S, E, Open> extends OneNode<S, E, Open> {
  readonly $where?: Filter<S, E> | undefined;
  readonly $orderBy?: readonly OrderKey<S, E>[] | readonly [RelevanceOrder<S, E>, ...OrderKey<S, E>[]] | undefined;
  readonly $groupBy?: readonly (FieldsOf<S, E, Sortable> | Bucket<S, E>)[];
  readonly $aggregate?: { readonly [alias: string]: Fold<S, E> };
  readonly $having?: Tree<Aggregated<Alias> | FieldTest<S, E, []> | BucketTest<Alias>>;
}
/** A node for a list in a record. */
export interface ManyNode<S, E, Open = false> extends ListNode<S, E, Open> {
  readonly $page?: ((Forward<null> | (Backward & { readonly before?: undefined })) & { readonly total?: undefined }) | undefined;
}
/** The root node of a query of a collection. */
export interface RootNode<S, E, Open = false> extends ListNode<S, E, Open> {
  readonly $page?:
    | ((Forward<Or<string> | null> | (Backward & { readonly before?: Or<string> | null | undefined })) & { readonly total?: true | undefined })
    | undefined;
  readonly $distinct?: readonly FieldsOf<S, E, Sortable>[];
}
type NodeOf<S, R, Open> = R extends Many<infer T> ? ManyNode<S, T, Open> : R extends One<infer T> ? OneNode<S, T, Open> : never;
/** A relation under another name. */
type RelationAlias<S, E, R extends keyof Part<S, E, "relations">> = { readonly $relation: Text<R> } & NodeOf<S, Part<S, E, "relations">[R], true>;
/** What other names may stand for. `object` accepts the rest, which `Checked` restricts. */
type Aliased<S, E> =
  | true
  | undefined
  | object
  | { readonly $field: Text<keyof Part<S, E, "fields">> }
  | { readonly $field: FieldsOf<S, E, "json">; readonly at: Pointer }
  | { [R in keyof Part<S, E, "relations">]: RelationAlias<S, E, R> }[keyof Part<S, E, "relations">];
type Names<S, E, Open> = Part<S, E, "fields"> & Part<S, E, "relations"> & (Open extends true ? { readonly [alias: string]: unknown } : unknown);
/** A selection of fields and relations; `undefined` selects nothing. One mapped type, because each part of an intersection has the members of `Object`. */
export type Select<S, E, Open = false> = {
  readonly [K in keyof Names<S, E, Open>]?:
    | undefined
    | Inherited<K>
    | (K extends keyof Part<S, E, "fields">
        ? true
        : K extends keyof Part<S, E, "relations">
          ? NodeOf<S, Part<S, E, "relations">[K], Open>
          : Aliased<S, E>);
};
/** A query of a collection, without aliases: one entity with its root node. */
export type Query<S, Open = false> = { readonly [E in keyof S]?: RootNode<S, E, Open> | Inherited<E> };
/** A query of one record, without aliases. */
export type PointQuery<S, Open = false> = { readonly [E in keyof S as Part<S, E, "id"> extends null ? never : E]?: OneNode<S, E, Open> | Inherited<E> };
