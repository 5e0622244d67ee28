// Results

/** What a name selects; `undefined` where the query may not select it. */
type Picked<S, E, P> = Flat<{ [K in keyof P]: PickedValue<S, E, K, P[K]> }>;
type PickedValue<S, E, K, V> = V extends undefined
  ? undefined
  : K extends keyof Part<S, E, "fields">
    ? Part<S, E, "fields">[K]
    : K extends keyof Part<S, E, "relations">
      ? Nested<S, Part<S, E, "relations">[K], V>
      : V extends { readonly $field: infer F extends keyof Part<S, E, "fields"> }
        ? V extends { readonly at: unknown }
          ? Json
          : Part<S, E, "fields">[F]
        : V extends { readonly $relation: infer R extends keyof Part<S, E, "relations"> }
          ? Nested<S, Part<S, E, "relations">[R], V>
          : V extends true
            ? string | null // a bucket
            : never;
/** The value of a relation: a record, a list, groups, or one object of aggregates. */
type Nested<S, R, N> = N extends { readonly $select: infer P }
  ? R extends Many<infer T>
    ? N extends { readonly $aggregate: infer A }
      ? N extends { readonly $groupBy: unknown }
        ? Flat<Picked<S, T, P> & Folded<S, T, A>>[]
        : Flat<Folded<S, T, A>>
      : Picked<S, T, P>[]
    : Picked<S, Target<R>, P> | null
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
  [E in keyof Q]-?: Q[E] extends { readonly $select: infer P }
    ? Q[E] extends { readonly $aggregate: infer A }
      ? Flat<Picked<S, E, P> & Folded<S, E, A>>
      : Picked<S, E, P>
    : never;
}[keyof Q];
/** The result of a query of a collection. `More` is what the query asks for about the page. */
export interface Page<T, More = unknown> {
  items: T[];
  pageInfo: Flat<{ hasNextPage: boolean; startCursor: string | null; endCursor: string | null } & More>;
}
/** A member of `pageInfo` that is there if the key of `$page` is; optional if that depends on a condition. */
type Asked<G, K extends string, Member extends string, T> = [G] extends [never]
  ? unknown
  : [G] extends [{ readonly [P in K]: {} }]
  ? { [P in Member]: T }
  : [Exclude<At<Extract<G, { readonly [P in K]?: unknown }>, K>, undefined>] extends [never]
    ? unknown
    : { [P in Member]?: T };
/** The page that a query of a collection reads. `totalCount` needs `total`, and `hasPreviousPage` needs `last`. */
export type Result<S, Q> = Page<Item<S, Q>, Asked<At<Q[keyof Q], "$page">, "total", "totalCount", number> & Asked<At<Q[keyof Q], "$page">, "last", "hasPreviousPage", boolean>>;
