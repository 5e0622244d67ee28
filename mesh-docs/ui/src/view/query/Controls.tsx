// The forms for one node of the query: filter, group, order, page and aliases.

import { signal } from "@preact/signals";
import { hasRelevance } from "../../query/filter";
import { isOneObject, keyNames, readGrouping } from "../../query/group";
import { entityOfNode, relationAt } from "../../query/resolve";
import { nodeAt, nodes, type Value } from "../../query/tree";
import { isPoint, query, schema, setNodeControl, setNodeWhere } from "../../state";
import { Choice } from "../parts/controls";
import { Chevron } from "../parts/icons";
import { AliasForm } from "./AliasForm";
import { FilterForm } from "./FilterForm";
import { GroupForm } from "./GroupForm";
import { OrderForm } from "./OrderForm";
import { PageForm } from "./PageForm";

/** The node whose controls are shown: the path from the root, joined by dots. */
const shown = signal("");
/** The forms are folded at first in a low window. */
const isOpen = signal(window.innerHeight > 720);

export function Controls() {
  const [known, tree] = [schema.value, query.value];
  if (!known || !tree) return null;
  const paths = nodes(tree).map(({ refs }) => refs.join("."));
  const path = paths.includes(shown.value) ? shown.value : "";
  const refs = path === "" ? [] : path.split(".");
  const entity = entityOfNode(known, tree, refs);
  const node = nodeAt(tree, refs);
  if (!entity || !node) return null;
  const isRoot = path === "";
  // Lists accept controls: the root of a collection, and to-many relations.
  const isList = isRoot ? !isPoint.value : relationAt(known, tree, refs)?.type === "many";
  const { controls } = node;
  const grouping = readGrouping(node);
  const isObject = !isRoot && isOneObject(grouping);
  const isGrouped = keyNames(grouping).length > 0 || grouping.aggregates.length > 0 || controls["$distinct"] !== undefined;
  const functions = known.query.aggregateFunctions;
  const form = (control: string) => ({ value: controls[control], set: (value: Value | undefined): void => setNodeControl(refs, control, value) });
  const count = ["$where", "$groupBy", "$aggregate", "$orderBy", "$page"].filter((name) => controls[name] !== undefined).length;
  return (
    <div class="controls">
      <div class="controls-head row wrap soft">
        <button type="button" class="fold flat" aria-expanded={isOpen.value} onClick={() => (isOpen.value = !isOpen.value)}>
          <Chevron />
          Filter, group, order, page, aliases
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
          {isList ? (
            <>
              <FilterForm entity={entity} operators={known.query.filterOperators} value={controls["$where"]} set={(where) => setNodeWhere(refs, where)} />
              <GroupForm query={tree} refs={refs} entity={entity} functions={functions} />
              {!isObject && <OrderForm entity={entity} functions={functions} grouping={grouping} hasRelevance={isRoot && !isGrouped && hasRelevance(controls["$where"])} {...form("$orderBy")} />}
              {!isObject && <PageForm isRoot={isRoot} bounds={known.query.pagination} {...form("$page")} />}
            </>
          ) : (
            <p class="hint">One record has no filter, order or page.</p>
          )}
          {!isGrouped && <AliasForm query={tree} refs={refs} entity={entity} />}
        </div>
      )}
    </div>
  );
}
