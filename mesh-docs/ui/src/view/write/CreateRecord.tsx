// The panel for a new record.

import { readPath } from "../../api/client";
import { creating, openRecord, type NewRecord } from "../../browse/state";
import { entityOf } from "../../schema";
import { schema } from "../../state";
import { relationPath, type Write } from "../../write/requests";
import { written } from "../../write/state";
import { useFocusBefore } from "../parts/focus";
import { Panel } from "../parts/Panel";
import { RecordForm } from "./RecordForm";

/** Returns the id at the end of the `Location` of a reply; escapes in ids of several fields stay. */
function idIn(location: string | null): string | undefined {
  const segment = location?.split("/").at(-1);
  return segment === undefined || segment.includes(",") ? segment : decodeURIComponent(segment);
}

export function CreateRecord({ next: { entity: name, parent } }: { next: NewRecord }) {
  const known = schema.value;
  const entity = known ? entityOf(known, name) : undefined;
  const focusBefore = useFocusBefore();
  if (!entity) return null;
  const leave = (): void => {
    creating.value = null;
    focusBefore();
  };
  const done = (location: string | null): void => {
    creating.value = null;
    const id = idIn(location);
    written(id === undefined ? `Created ${name}` : `Created ${name} ${id}`);
    if (id !== undefined && !parent) openRecord({ entity: name, id });
    else focusBefore();
  };
  const write: Write = { method: "POST", path: parent ? relationPath(parent.entity, parent.id, parent.relation) : readPath(name, "") };
  const title = parent ? `New ${name} in ${parent.relation} of ${parent.entity} ${parent.id}` : `New ${name}`;
  return (
    <Panel title={title} kind="record" testId="new-record-panel" leave={leave}>
      <RecordForm entity={entity} names={entity.writes?.create ?? []} write={write} action="Create" done={done} cancel={leave} />
    </Panel>
  );
}
