// Parameters

/** A parameter and what its place takes. One with several places has the types of all of them at once. */
interface Place<N, T> {
  readonly name: N;
  readonly take: (value: T) => void;
}
type Placed<V, T> = V extends Param<infer N> ? ("" extends N ? never : Place<N, T>) : never;
// Parts of no particular query have no parameters.
type InFilter<S, E, F> = Filter<S, E> extends F ? never : F extends { readonly and: readonly (infer W)[] } | { readonly or: readonly (infer W)[] } | { readonly not: infer W }
  ? InFilter<S, E, W>
  : F extends { readonly relation: infer R extends keyof Part<S, E, "relations">; readonly where: infer W }
    ? InFilter<S, Target<Part<S, E, "relations">[R]>, W>
    : F extends { readonly op: infer O; readonly value: infer V }
      ? O extends "in" | "nin" | "hasAny" | "hasAll"
        ? Placed<V, readonly LiteralOf<S, E, F>[]> | (V extends readonly (infer I)[] ? Placed<I, LiteralOf<S, E, F>> : never)
        : Placed<V, O extends "like" | "ilike" ? string : LiteralOf<S, E, F>>
      : F extends { readonly search: infer V }
        ? Placed<V, string>
        : never;
type LiteralOf<S, E, F> = F extends { readonly at: string } | { readonly aggregate: unknown } | { readonly op: Elements["op"] }
  ? string | number | boolean
  : F extends { readonly field: infer P }
    ? Literals[KindAt<S, E, P> & keyof Literals]
    : never;
type InPage<G> = Placed<At<G, "first" | "last" | "skip">, number> | Placed<At<G, "after" | "before">, string | null>;
type InSelect<S, E, P> = Select<S, E> extends P ? never : {
  [K in keyof P]-?: K extends keyof Part<S, E, "relations">
    ? InNode<S, Target<Part<S, E, "relations">[K]>, P[K]>
    : P[K] extends { readonly $relation: infer R extends keyof Part<S, E, "relations"> }
      ? InNode<S, Target<Part<S, E, "relations">[R]>, P[K]>
      : never;
}[keyof P];
type InNode<S, E, N> = N extends object
  ? InFilter<S, E, At<N, "$where">> | InFilter<S, E, At<N, "$having">> | InPage<At<N, "$page">> | InSelect<S, E, At<N, "$select">>
  : never;
type InQuery<S, Q> = Query<S> extends Q ? never : { [E in keyof Q]-?: InNode<S, E, Q[E]> }[keyof Q];
type Values<P> = {
  [N in P extends Place<infer Name, never> ? Name & string : never]: Extract<P, { readonly name: N }> extends { readonly take: (value: infer T) => void } ? T : never;
};
/** The values of a query's parameters. */
export type Params<S, Q> = Values<InQuery<S, Q>>;
declare const defaults: unique symbol;
/** Marks a registered query whose parameters `N` have defaults. It has no value. */
export interface Defaults<N> {
  readonly [defaults]?: N;
}
/** The types of parameters, and the values of those that are not sent. */
export type Declared<S, Q> = { readonly [N in keyof Params<S, Q>]?: { readonly type: Exclude<keyof Literals, "scalar">; readonly default?: Params<S, Q>[N] } | Inherited<N> };
type Defaulted<D> = { [N in keyof D]: D[N] extends { readonly default: unknown } ? N : never }[keyof D];
type Optional<Q> = Q extends Defaults<infer N> ? N : never;
type Given<P, N> = [N] extends [never] ? P : { readonly [K in Exclude<keyof P, N>]: P[K] } & { readonly [K in Extract<keyof P, N>]?: P[K] | Inherited<K> };
/** The last argument of a call that sends a query: with `params` if the query has parameters. */
export type Sending<S, Q, More = unknown> = [keyof Params<S, Q>] extends [never]
  ? [call?: Call & More]
  : [Exclude<keyof Params<S, Q>, Optional<Q>>] extends [never]
    ? [call?: Call & More & { params?: Given<Params<S, Q>, Optional<Q>> }]
    : [call: Call & More & { params: Given<Params<S, Q>, Optional<Q>> }];
