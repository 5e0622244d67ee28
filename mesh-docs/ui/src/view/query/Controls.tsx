// The forms for the controls of one node of the query: filter, group, order and page.

import { signal } from "@preact/signals";
import { readGrouping } from "../../query/group";
import { nodeAt, nodes, type Query, type Value } from "../../query/tree";
import { entityAt, relationOf, type Schema } from "../../schema";
import { isPoint, query, schema, setNodeControl } from "../../state";
import { Choice } from "../parts/controls";
import { Chevron } from "../parts/icons";
import { FilterForm } from "./FilterForm";
import { GroupForm } from "./GroupForm";
import { OrderForm } from "./OrderForm";
import { PageForm } from "./PageForm";

/** The node whose controls are shown: the path from the root, joined by dots. */
const shown = signal("");
/** The forms are folded at first in a low window. */
const isOpen = signal(window.innerHeight > 720);

/** Returns the paths of the nodes that accept controls: the root of a collection, and to-many relations. */
function listPaths(known: Schema, tree: Query): string[] {
  const lists = nodes(tree).filter(({ refs }) => {
    if (refs.length === 0) return !isPoint.value;
    const parent = entityAt(known, tree.entity, refs.slice(0, -1));
    return relationOf(known, parent?.name, refs.at(-1) ?? "")?.type === "many";
  });
  return lists.map(({ refs }) => refs.join("."));
}

export function Controls() {
  const [known, tree] = [schema.value, query.value];
  if (!known || !tree) return null;
  const paths = listPaths(known, tree);
  const path = paths.includes(shown.value) ? shown.value : paths[0];
  if (path === undefined) return <p class="controls controls-none hint">A point read has no filter or order.</p>;
  const refs = path === "" ? [] : path.split(".");
  const entity = entityAt(known, tree.entity, refs);
  if (!entity) return null;
  const isRoot = path === "";
  const controls = nodeAt(tree, refs)?.controls ?? {};
  const form = (control: string) => ({ value: controls[control], set: (value: Value | undefined): void => setNodeControl(refs, control, value) });
  const count = ["$where", "$groupBy", "$aggregate", "$orderBy", "$page"].filter((name) => controls[name] !== undefined).length;
  return (
    <div class="controls">
      <div class="controls-head row wrap soft">
        <button type="button" class="fold flat" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          <Chevron />
          Filter, group, order, page
          {count > 0 && <span class="count">{count}</span>}
        </button>
        {paths.length > 1 && (
          <label class="inline">
            of
            <Choice
              value={path}
              options={paths}
              names={Object.fromEntries(paths.map((one) => [one, [tree.entity, one].filter(Boolean).join(".")]))}
              testId="controls-node"
              choose={(chosen) => (shown.value = chosen)}
            />
          </label>
        )}
      </div>
      {isOpen.value && (
        <div class="controls-body">
          <FilterForm entity={entity} operators={known.query.filterOperators} {...form("$where")} />
          {isRoot && <GroupForm query={tree} entity={entity} functions={known.query.aggregateFunctions} />}
          <OrderForm entity={entity} grouping={isRoot ? readGrouping(tree.root) : undefined} {...form("$orderBy")} />
          <PageForm isRoot={isRoot} bounds={known.query.pagination} {...form("$page")} />
        </div>
      )}
    </div>
  );
}
