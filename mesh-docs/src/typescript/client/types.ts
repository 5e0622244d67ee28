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
  /** Whether the records can be searched. */
  search?: true;
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
/** What TypeScript takes a member to be where it is left out and `Object` has one of this name. */
type Inherited<K> = K extends keyof Object ? Object[K] : never;
type Flat<T> = { -readonly [K in keyof T]: T[K] } & {};
/** The keys of all members of a union, and the type of one of them. */
type AllKeys<T> = T extends object ? keyof T : never;
type At<T, K> = T extends { readonly [P in K & PropertyKey]?: infer V } ? V : never;
type Target<R> = R extends Many<infer T> ? T : R extends One<infer T> ? T : never;
