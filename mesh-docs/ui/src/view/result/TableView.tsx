// The records of a result as a table.

import { useMemo } from "preact/hooks";
import type { Json } from "../../query/json";
import { readQuery } from "../../query/read";
import { schema } from "../../state";
import type { SavedQuery } from "../../storage";
import type { Origin } from "../../table/columns";
import { RecordTable } from "../table/RecordTable";

export function originOf(request: SavedQuery): Origin {
  return { schema: schema.value, query: readQuery(request.format, request.query), refs: [] };
}

export function TableView({ list, source, request }: { list: Json; source: string; request: SavedQuery }) {
  const origin = useMemo(() => originOf(request), [request]);
  return <RecordTable list={list} source={source} origin={origin} label="Result as a table" testId="table" />;
}
