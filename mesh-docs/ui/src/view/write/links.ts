// Links between records that exist.

import { notify } from "../../notice";
import { requestError } from "../../run";
import { entityOf, fieldOf, idFields, type Relation } from "../../schema";
import { schema } from "../../state";
import { relationPath, sendWrite, type Write } from "../../write/requests";
import { written } from "../../write/state";

/** The record that a link begins at. */
export interface Parent {
  entity: string;
  id: string;
}

async function send(write: Write, text: string): Promise<void> {
  try {
    await sendWrite(write);
    written(text);
  } catch (failure) {
    notify(requestError(failure).message, true);
  }
}

/** Returns an id as the text of a JSON value. */
function entityId(relation: Relation, id: string): string {
  const known = schema.value;
  const [name, ...others] = known ? idFields(entityOf(known, relation.entity)) : [];
  const isNumber = known && name !== undefined && others.length === 0 && fieldOf(known, relation.entity, name)?.type === "integer";
  return isNumber && /^-?\d+$/.test(id) ? id : JSON.stringify(id);
}

/** Links a record to another one: the only one of a relation, or one of many. */
export function link({ entity, id }: Parent, relation: Relation, target: string): void {
  const body = `{ "entityId": ${entityId(relation, target)} }`;
  void send({ method: relation.type === "one" ? "PUT" : "POST", path: relationPath(entity, id, relation.name), body }, `Linked ${relation.entity} ${target}`);
}

/** Removes a link; of a relation to many, the one to `child`. */
export function unlink({ entity, id }: Parent, relation: Relation, child?: string): void {
  void send({ method: "DELETE", path: relationPath(entity, id, relation.name, child) }, `Unlinked ${relation.entity} ${child ?? ""}`.trim());
}
