// Hooks for React and for libraries with the same functions, such as Preact. `mesh-server types --react` writes this file
// beside the client. It is equal for all schemas.

import type { Call, Checked, Item, PointQuery, Query, RecordId, Result, SchemaTypes, Sending, Watching } from "./mesh-client.js";

/** The functions of React that the hooks call. */
export interface React {
  useState<T>(initial: T): [T, (value: T) => void];
  useEffect(effect: () => () => void, inputs: readonly unknown[]): void;
}
/** What the hooks return. */
export interface Live<T> {
  /** The current data; `undefined` until it has arrived. */
  data: T | undefined;
  /** The error of the last read, until data arrives again. */
  error: Error | undefined;
}

/** The methods of a client without the types of a query, which are those of the hooks. */
interface Streams {
  watch(id: RecordId, query: object, call: object): AsyncIterable<unknown>;
  watchList(query: object, call: object): AsyncIterable<unknown>;
}

/** Returns hooks that show data as it changes. Pass React, or an object with its functions, and a client. */
export function liveHooks<S extends SchemaTypes<S>>({ useState, useEffect }: React, client: { readonly schema?: S }) {
  const streams = client as unknown as Streams;

  /** Shows a stream, which is opened again when the key changes. */
  function useStream<T>(key: string, open: (watching: Watching & Call) => AsyncIterable<unknown>): Live<T> {
    const [state, set] = useState<Live<T> & { key: string }>({ key, data: undefined, error: undefined });
    useEffect(() => {
      const ended = new AbortController();
      let data: T | undefined;
      const show = (error?: Error): void => {
        if (!ended.signal.aborted) set({ key, data, error });
      };
      const run = async (): Promise<void> => {
        for await (const next of open({ signal: ended.signal, trouble: show })) {
          data = next as T;
          show();
        }
      };
      run().catch(show);
      return () => ended.abort();
    }, [key]);
    // The data of another key must not be shown.
    const { data, error } = state.key === key ? state : { data: undefined, error: undefined };
    return { data, error };
  }

  return {
    /** Watches a page of a collection, or its groups. */
    useLiveList<const Q extends Query<S, true>>(query: Q & Checked<S, Q>, ...[call]: Sending<S, Q>): Live<Result<S, Q>> {
      return useStream(JSON.stringify([query, call]), (watching) => streams.watchList(query, { ...call, ...watching }));
    },
    /** Watches a record, whose data is `null` if it does not exist. */
    useLive<const Q extends PointQuery<S, true>>(id: RecordId, query: Q & Checked<S, Q, "one">, ...[call]: Sending<S, Q>): Live<Item<S, Q> | null> {
      return useStream(JSON.stringify([id, query, call]), (watching) => streams.watch(id, query, { ...call, ...watching }));
    },
  };
}
