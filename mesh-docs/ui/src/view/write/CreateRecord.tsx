// The panel for a new record.

import { readPath } from "../../api/client";
import { creating, openRecord, type NewRecord } from "../../browse/state";
import { entityOf } from "../../schema";
import { schema } from "../../state";
import { relationPath, type Write } from "../../write/requests";
import { written } from "../../write/state";
import { IconButton } from "../parts/controls";
import { Close } from "../parts/icons";
import { RecordForm } from "./RecordForm";

/** Returns the id at the end of the `Location` of a reply; escapes in ids of several fields stay. */
function idIn(location: string | null): string | undefined {
  const segment = location?.split("/").at(-1);
  return segment === undefined || segment.includes(",") ? segment : decodeURIComponent(segment);
}

export function CreateRecord({ next: { entity: name, parent } }: { next: NewRecord }) {
  const known = schema.value;
  const entity = known ? entityOf(known, name) : undefined;
  if (!entity) return null;
  const leave = (): void => {
    creating.value = null;
  };
  const done = (reply: Response): void => {
    leave();
    const id = idIn(reply.headers.get("Location"));
    written(id === undefined ? `Created ${name}` : `Created ${name} ${id}`);
    if (id !== undefined && !parent) openRecord({ entity: name, id });
  };
  const write: Write = { method: "POST", path: parent ? relationPath(parent.entity, parent.id, parent.relation) : readPath(name, "") };
  const title = parent ? `New ${name} in ${parent.relation} of ${parent.entity} ${parent.id}` : `New ${name}`;
  return (
    <section
      class="record column"
      aria-label={title}
      data-testid="new-record-panel"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        leave();
      }}
    >
      <header class="detail-head row">
        <h2 class="grow ellipsis" title={title}>
          {title}
        </h2>
        <IconButton label="Close" title="Close (Escape)" act={leave}>
          <Close />
        </IconButton>
      </header>
      <RecordForm entity={entity} names={entity.writes?.create ?? []} write={write} action="Create" done={done} cancel={leave} />
    </section>
  );
}
