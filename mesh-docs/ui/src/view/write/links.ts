// Links between records that exist.

import { announce, notify } from "../../notice";
import { requestError } from "../../run";
import { entityOf, fieldOf, idFields, type Relation } from "../../schema";
import { schema } from "../../state";
import { relationPath, sendWrite, type Write } from "../../write/requests";
import { withoutReferences } from "../../write/body";
import { isReference, stage, stagesLinks } from "../../write/staged";
import { written } from "../../write/state";

/** The record that a link begins at. */
export interface Parent {
  entity: string;
  id: string;
}

/** Sends a write, or stages it if links are staged or it refers to a new record. */
async function send(write: Write, text: string, isDeferred = false): Promise<void> {
  if (stagesLinks.value || isDeferred) {
    stage(write);
    return announce(`Staged: ${text}`);
  }
  try {
    await sendWrite(write);
    written(text);
  } catch (failure) {
    notify(requestError(failure).message, true);
  }
}

/** Returns an id as the text of a JSON value. */
function entityId(relation: Relation, id: string): string {
  if (isReference(id)) return JSON.stringify(id);
  const known = schema.value;
  const [name, ...others] = known ? idFields(entityOf(known, relation.entity)) : [];
  const isNumber = known && name !== undefined && others.length === 0 && fieldOf(known, relation.entity, name)?.type === "integer";
  return isNumber && /^-?\d+$/.test(id) ? id : stagesLinks.value ? withoutReferences(JSON.stringify(id)) : JSON.stringify(id);
}

/** Links a record to another one: the only one of a relation, or one of many. */
export function link({ entity, id }: Parent, relation: Relation, target: string): void {
  const body = `{ "entityId": ${entityId(relation, target)} }`;
  void send({ method: relation.type === "one" ? "PUT" : "POST", path: relationPath(entity, id, relation.name), body }, `Linked ${relation.entity} ${target}`, isReference(target));
}

/** Removes a link; of a relation to many, the one to `child`. */
export function unlink({ entity, id }: Parent, relation: Relation, child?: string): void {
  void send({ method: "DELETE", path: relationPath(entity, id, relation.name, child) }, `Unlinked ${relation.entity} ${child ?? ""}`.trim());
}
