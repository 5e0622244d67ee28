// The records of a relation, below their row or in the panel of their record.

import { useEffect, useMemo, useState } from "preact/hooks";
import { execute, type Answer } from "../../api/client";
import { openInEditor, openRecord } from "../../browse/state";
import { idOf, leaf, relatedNode, RELATED_SIZE } from "../../browse/view";
import { count } from "../../format";
import { member, type Json } from "../../query/json";
import { printQuery } from "../../query/print";
import { emptyNode, newQuery, type Query } from "../../query/tree";
import { entityOf, type Relation, type Schema } from "../../schema";
import { schema } from "../../state";
import { columnsOf, itemsOf, valueAt } from "../../table/columns";
import { IconButton } from "../parts/controls";
import { Close } from "../parts/icons";
import { DataGrid, type GridCell, type GridColumn } from "../table/DataGrid";
import { gridColumn, valueCell } from "../table/RecordTable";

interface Props {
  entity: string;
  id: string;
  relation: Relation;
  close?: () => void;
}

function relatedQuery(known: Schema, entity: string, relation: Relation): Query {
  const node = { ...emptyNode(), select: [{ ...leaf(relation.name), node: relatedNode(known, relation) }] };
  return { ...newQuery(entity), root: node };
}

/** The records of a relation, which are read when they are shown. */
export function RelatedRows({ entity, id, relation, close }: Props) {
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [error, setError] = useState("");
  const known = schema.value;
  const query = useMemo(() => (known ? printQuery("json", relatedQuery(known, entity, relation)) : ""), [known, entity, relation]);
  useEffect(() => {
    const controller = new AbortController();
    execute({ query, format: "json", id }, false, controller.signal)
      .then((read) => !controller.signal.aborted && setAnswer(read))
      .catch((failure: Error) => !controller.signal.aborted && setError(failure.message));
    return () => controller.abort();
  }, [query, id]);
  const list = answer && member(answer.data, relation.name);
  return (
    <section class="related column" aria-label={`${relation.name} of ${entity} ${id}`} data-testid="related">
      <header class="related-head row">
        <h2 class="grow ellipsis">
          <span class="relate">{relation.name}</span> of {entity} {id}
        </h2>
        <button type="button" class="small" onClick={() => openInEditor(query, id)}>
          Open in the editor
        </button>
        {close && (
          <IconButton label="Close" act={close}>
            <Close />
          </IconButton>
        )}
      </header>
      {error && <p class="form-error bad pad">{error}</p>}
      {!answer && !error && <p class="hint pad">Reading…</p>}
      {answer && list && <RelatedList list={list} source={answer.source} relation={relation} />}
    </section>
  );
}

/** The column of the buttons that remove a link. */
const UNLINKS: GridColumn = { key: "unlink ", label: "Unlink", head: <span class="hidden">Unlink</span>, width: 9, isNumber: false };

function unlinkCell(id: string | undefined, unlink: ((id: string) => void) | undefined): GridCell {
  const act = (event: Event): void => {
    event.stopPropagation();
    if (id !== undefined) unlink?.(id);
  };
  return {
    class: "",
    content: (
      <button type="button" class="cell-link" tabIndex={-1} aria-label={`Unlink ${id ?? ""}`} onClick={act}>
        Unlink
      </button>
    ),
  };
}

/** A table of related records, which open in the panel. */
export function RelatedList({ list, source, relation, unlink }: { list: Json; source: string; relation: Relation; unlink?: (id: string) => void }) {
  const known = schema.value;
  const columns = useMemo(() => {
    const query = newQuery(relation.entity);
    return columnsOf(list, source, { schema: known, query, refs: [] });
  }, [list]);
  const records = itemsOf(list);
  if (records.length === 0) return <p class="hint pad">None.</p>;
  const target = known ? entityOf(known, relation.entity) : undefined;
  const idAt = (row: number): string | undefined => idOf(target, records[row]);
  const open = (row: number): void => {
    const id = idAt(row);
    if (id !== undefined) openRecord({ entity: relation.entity, id });
  };
  return (
    <>
      <DataGrid
        label={relation.name}
        columns={unlink ? [...columns.map(gridColumn), UNLINKS] : columns.map(gridColumn)}
        rows={records.length}
        cell={(row, column) =>
          column === columns.length ? unlinkCell(idAt(row), unlink) : valueCell(valueAt(records[row], columns[column]?.path ?? []), columns[column]?.type, source)
        }
        act={(row, column) => {
          const id = idAt(row);
          if (unlink && id !== undefined && column === columns.length) unlink(id);
          else open(row);
        }}
      />
      {records.length >= RELATED_SIZE && <p class="hint related-note">The first {count(records.length, "record")}.</p>}
    </>
  );
}
