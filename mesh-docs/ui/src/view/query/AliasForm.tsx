// The form for aliases of fields and relations. `SPEC §14.4`

import { rename, setAlias, setPlace, toggle } from "../../query/edit";
import { nodeAt, type Query, type Selection } from "../../query/tree";
import type { Entity } from "../../schema";
import { notify } from "../../notice";
import { change, schema } from "../../state";
import { AddButton, Choice, IconButton } from "../parts/controls";
import { Close } from "../parts/icons";

export function AliasForm({ query, refs, entity }: { query: Query; refs: string[]; entity: Entity }) {
  const known = schema.value;
  const node = nodeAt(query, refs);
  if (!known || !node) return null;
  const members = [...entity.fields, ...entity.joins].map(({ name }) => name);
  const [first] = members;
  const setName = (input: HTMLInputElement, { name }: Selection): void => {
    const next = newName(input, name, [...members, ...node.select.map((one) => one.name)]);
    if (next !== undefined) change((tree) => rename(tree, refs, name, next));
  };
  return (
    <fieldset class="control">
      <legend class="faint">Aliases</legend>
      {node.select.map(
        (one) =>
          one.of !== undefined && (
            <div class="order alias row" key={one.name}>
              <input aria-label="Alias" spellcheck={false} value={one.name} onChange={(event) => setName(event.currentTarget, one)} />
              <span class="inline">of</span>
              <Choice label="Field or relation" value={one.of} options={members} choose={(of) => change((tree) => setAlias(known, tree, refs, entity, of, one))} />
              {entity.fields.some(({ name, type }) => name === one.of && type === "json") && (
                <input
                  class="place"
                  aria-label="Place in the JSON value"
                  placeholder="/place"
                  spellcheck={false}
                  value={one.at ?? ""}
                  onChange={({ currentTarget: { value } }) => change((tree) => setPlace(tree, refs, one.name, value))}
                />
              )}
              <IconButton label={`Remove ${one.name}`} act={() => change((tree) => toggle(known, tree, tree.entity, refs, one.name))}>
                <Close />
              </IconButton>
            </div>
          ),
      )}
      {first !== undefined && (
        <span class="adders row">
          <AddButton testId="add-alias" act={() => change((tree) => setAlias(known, tree, refs, entity, first))}>
            Alias
          </AddButton>
        </span>
      )}
    </fieldset>
  );
}

/** Returns the new name of an alias from its input; `undefined` if it is the old one, taken, or no name. */
export function newName(input: HTMLInputElement, old: string, taken: readonly string[]): string | undefined {
  const next = input.value.trim();
  if (next === old) return undefined;
  const isTaken = taken.includes(next);
  if (!isTaken && /^[A-Za-z_]\w{0,63}$/.test(next)) return next;
  notify(isTaken ? `The name ${next} is taken` : "An alias has letters, digits and underscores, and begins with no digit", true);
  input.value = old;
  return undefined;
}
