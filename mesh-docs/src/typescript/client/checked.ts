// Checks of what the types above let pass: unknown names, and rules between the parts of a node

declare const refused: unique symbol;
/** The type of a part that the server would refuse. Its key is a symbol, so that editors do not offer it. */
export interface Refused<Why extends string> {
  readonly [refused]: Why;
}
/** Where a node stands: at the root, or in a relation; `alias` if its key is an alias. */
type Level = "root" | "many" | "one" | "alias";
type Controls<L> = L extends "root" ? keyof RootNode<unknown, never> : L extends "many" ? keyof ManyNode<unknown, never> : L extends "one" ? "$select" : "$relation";
type LevelOf<R> = R extends Many<unknown> ? "many" : "one";
type Grouping = { readonly $groupBy: unknown } | { readonly $aggregate: unknown };
type Aliases<N> = N extends { readonly $aggregate: infer A } ? Text<keyof A> : never;
/** The fields that a grouped or distinct list can select, order and filter by. */
type Keys<N> = N extends { readonly $groupBy: readonly (infer F)[] }
  ? F extends { readonly as: infer A }
    ? A
    : F
  : N extends { readonly $distinct: readonly (infer F)[] }
    ? F
    : N extends { readonly $aggregate: unknown }
      ? never
      : PropertyKey;
type Buckets<N> = N extends { readonly $groupBy: readonly (infer F)[] } ? (F extends { readonly as: infer A } ? A : never) : never;
type NotEmpty<T, Why extends string> = T extends readonly [] ? Refused<Why> : unknown;

/** The kind of the field at the end of a path; `never` if it does not exist. */
type KindAt<S, E, P> = P extends `${infer R}.${infer Rest}`
  ? R extends keyof Part<S, E, "relations">
    ? Part<S, E, "relations">[R] extends One<infer T>
      ? KindAt<S, T, Rest>
      : never
    : never
  : P extends keyof Part<S, E, "kinds">
    ? Part<S, E, "kinds">[P]
    : never;
/** A type that accepts a filter if its long paths exist and the values have their types. `Negated` says that it is below `not`. */
type CheckedFilter<S, E, F, Negated = false> = Filter<S, E> extends F
  ? unknown
  : F extends { readonly field: infer P }
    ? P extends LongPath
      ? NullTest<KindAt<S, E, P> extends never ? never : P> | Compared<P, KindAt<S, E, P>> | (KindAt<S, E, P> extends "json" ? JsonTest<P> | ElementTest<P> : never)
      : unknown
    : F extends { readonly relation: infer R; readonly where: infer W }
      ? { readonly where?: W extends undefined ? undefined : R extends keyof Part<S, E, "relations"> ? CheckedFilter<S, Target<Part<S, E, "relations">[R]>, W, Negated> : unknown }
      : F extends { readonly not: infer W }
        ? { readonly not: CheckedFilter<S, E, W, true> }
        : F extends { readonly search: unknown }
          ? Negated extends true ? Refused<"no search below `not`; exclude words with `-` in the text"> : unknown
          : { readonly [K in keyof F]: CheckedFilters<S, E, F[K], Negated> };
type CheckedFilters<S, E, L, Negated> = { readonly [I in keyof L]: CheckedFilter<S, E, L[I], Negated> };
type LongOrder<S, E, O> = O extends readonly (infer I)[]
  ? I extends { readonly field: infer P }
    ? P extends LongPath
      ? [KindAt<S, E, P>] extends [never]
        ? never
        : KindAt<S, E, P> extends Sortable
          ? Order<P>
          : never
      : never
    : never
  : never;
/** The search of `$where` that a root can be ordered by. */
type Searched<W> = Extract<W | (W extends { readonly and: readonly (infer F)[] } ? F : never), { readonly search: unknown }>;
type PlainOrder<S, E, N> = Order<Paths<S, E, Sortable, Hops>> | RelationOrder<S, E> | LongOrder<S, E, At<N, "$orderBy">>;
type CheckedOrder<S, E, N, L> = N extends Grouping | { readonly $distinct: unknown }
  ? N extends { readonly $groupBy: unknown }
    ? readonly (Order<(FieldsOf<S, E, Sortable> & Keys<N>) | Buckets<N>> | AggregateOrder<Aliases<N>>)[] | undefined
    : L extends "many"
      ? Refused<"the aggregates of a relation without $groupBy are one object">
      : readonly (Order<FieldsOf<S, E, Sortable> & Keys<N>> | AggregateOrder<Aliases<N>>)[] | undefined
  : readonly PlainOrder<S, E, N>[] | undefined | (L extends "root" ? ([Searched<At<N, "$where">>] extends [never] ? never : readonly [RelevanceOrder<S, E>, ...PlainOrder<S, E, N>[]]) : never);
type CheckedControl<S, E, N, K, L> = K extends "$where"
  ? CheckedFilter<S, E, At<N, K>>
  : K extends "$orderBy"
    ? CheckedOrder<S, E, N, L>
    : K extends "$having"
      ? N extends (L extends "many" ? { readonly $groupBy: unknown } : Grouping)
        ? Tree<Aggregated<Aliases<N>> | FieldTest<S, E, [], Keys<N>> | BucketTest<Buckets<N>>>
        : Refused<L extends "many" ? "$having of a relation needs $groupBy" : "$having needs $groupBy or $aggregate">
      : K extends "$page"
        ? L extends "many"
          ? N extends { readonly $aggregate: unknown }
            ? N extends { readonly $groupBy: unknown }
              ? unknown
              : Refused<"the aggregates of a relation without $groupBy are one object">
            : unknown
          : unknown
        : K extends "$distinct"
          ? N extends Grouping
            ? Refused<"$distinct cannot be combined with $groupBy or $aggregate">
            : NotEmpty<At<N, K>, "$distinct is empty">
          : K extends "$groupBy"
            ? L extends "many"
              ? N extends { readonly $aggregate: unknown }
                ? NotEmpty<At<N, K>, "$groupBy is empty">
                : Refused<"$groupBy of a relation needs $aggregate">
              : NotEmpty<At<N, K>, "$groupBy is empty">
            : K extends "$aggregate"
              ? [Aliases<N>] extends [never]
                ? Refused<"$aggregate is empty">
                : { readonly [A in Aliases<N>]: A extends AllKeys<At<N, "$select">> | Buckets<N> ? Refused<"the alias is also selected"> : unknown }
              : unknown;

/** The names that begin like another one. */
type Near<K, Names> = K extends `${infer First}${infer Second}${string}` ? Extract<Names, `${First}${Second}${string}`> : never;
type Missing<K, Names> = `'${Text<K>}' does not exist${[Near<K, Names>] extends [never] ? "" : `; did you mean '${Text<Near<K, Names>>}'?`}`;
type NamesOf<S, E> = keyof Part<S, E, "fields"> | keyof Part<S, E, "relations">;
type CheckedAlias<S, E, K, V> = V extends { readonly $field: unknown; readonly at: unknown }
  ? { readonly [P in keyof V]: P extends "$field" ? FieldsOf<S, E, "json"> : P extends "at" ? Pointer : never }
  : V extends { readonly $field: unknown }
  ? { readonly [P in keyof V]: P extends "$field" ? Text<keyof Part<S, E, "fields">> : never }
  : V extends { readonly $relation: infer R }
    ? R extends keyof Part<S, E, "relations">
      ? RelationAlias<S, E, R> & CheckedNode<S, Target<Part<S, E, "relations">[R]>, V, LevelOf<Part<S, E, "relations">[R]> | "alias">
      : { readonly $relation: Text<keyof Part<S, E, "relations">> }
    : Refused<Missing<K, NamesOf<S, E>>>;
type CheckedSelect<S, E, N, P> = [AllKeys<P>] extends [never]
  ? N extends { readonly $aggregate: unknown }
    ? unknown
    : Refused<"$select is empty; that is allowed beside $aggregate only">
  : {
      readonly [F in AllKeys<P>]?: F extends Keys<N>
        ? F extends keyof Part<S, E, "relations">
          ? CheckedNode<S, Target<Part<S, E, "relations">[F]>, At<P, F>, LevelOf<Part<S, E, "relations">[F]>> | undefined | Inherited<F>
          : F extends keyof Part<S, E, "fields">
            ? true | undefined | Inherited<F>
            : F extends Buckets<N>
              ? true | undefined
              : N extends Grouping | { readonly $distinct: unknown }
                ? Refused<Missing<F, Keys<N>>>
                : CheckedAlias<S, E, F, At<P, F>>
        : Refused<"groups and distinct items have their keys only">;
    };
type CheckedNode<S, E, N, L> = {
  readonly [K in AllKeys<N>]?: K extends "$select" ? CheckedSelect<S, E, N, At<N, K>> : K extends Controls<L> ? CheckedControl<S, E, N, K, L> : never;
};
type Single<T, Whole = T> = T extends unknown ? ([Whole] extends [T] ? T : never) : never;
/**
 * A type that accepts a query if all its names are known and its parts fit together. A query with another error is inferred
 * as `Query` and reported there.
 */
export type Checked<S, Q, L extends Level = "root"> = Query<S, true> extends Q
  ? unknown
  : { [E in keyof Q]: E extends typeof defaults ? unknown : E extends Single<Exclude<keyof Q, typeof defaults>> & keyof S ? CheckedNode<S, E, Q[E], L> : Refused<Missing<E, keyof S>> };
