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
    | Inherited<F>
    | (F extends keyof Part<S, E, "fields"> ? Extract<Part<S, E, "fields">[F], null> : never);
};
/** The fields of a new record. Those that a relation sets may be left out. */
export type NewFields<S, E, Set = never> = [Exclude<Part<S, E, "required">, Set>] extends [never]
  ? Fields<S, E, "creatable">
  : Fields<S, E, "creatable"> & Required<Pick<Fields<S, E, "creatable">, Exclude<Part<S, E, "required">, Set> & keyof Fields<S, E, "creatable">>>;
/** Entities with records that can be created, or updated. */
export type Writable<S, Kind extends "creatable" | "updatable"> = { [E in keyof S]: [Part<S, E, Kind>] extends [never] ? never : Text<E> }[keyof S];
/** Entities with records that can be deleted. */
export type Deletable<S> = { [E in keyof S]: Part<S, E, "deletable"> extends true ? Text<E> : never }[keyof S];
type Relation<S, E, Kind> = { [R in keyof Part<S, E, "relations">]: Part<S, E, "relations">[R] extends Kind ? Text<R> : never }[keyof Part<S, E, "relations">];
type Link<S, E, R> = R extends keyof Part<S, E, "relations"> ? (Part<S, E, "relations">[R] extends Many<unknown, infer F> ? Extract<F, string> : never) : never;
type To<S, E, R> = R extends keyof Part<S, E, "relations"> ? Target<Part<S, E, "relations">[R]> & keyof S : never;
/** A type that accepts a query of the result of a write, which is a record of `E`. */
type Shape<S, E, Q> = Checked<S, Q, "one"> & { [K in keyof Q]: K extends E ? unknown : never };
/** The result of a write: the selection of the query; without a query all fields, but no computed ones. */
type Written<S, E, Q> = [Q] extends [never] ? Flat<Pick<Part<S, E, "fields">, keyof Part<S, E, "kinds"> & keyof Part<S, E, "fields">>> : Item<S, Q>;
