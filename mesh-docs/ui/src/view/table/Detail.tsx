// The panel for one value: all of its text, an image, or the records of a nested list.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Reader } from "../../editor/Reader";
import { count } from "../../format";
import { formatJson, type Json } from "../../query/json";
import { describeBinary } from "../../table/binary";
import { IconButton } from "../parts/controls";
import { copyText } from "../parts/copy";
import { Copy } from "../parts/icons";
import { Panel } from "../parts/Panel";

interface Props {
  title: string;
  json: Json | undefined;
  type: string | undefined;
  source: string;
  close: () => void;
  /** Shows the records of a nested list. */
  list: (records: Json, label: string) => ComponentChildren;
}

export function Detail({ title, json, type, source, close, list }: Props) {
  const panel = useRef<HTMLElement>(null);
  const leave = (): void => {
    const grid = panel.current?.parentElement?.querySelector<HTMLElement>('[role="grid"]');
    close();
    grid?.focus();
  };
  useEffect(() => {
    panel.current?.scrollIntoView({ block: "nearest" });
  }, []);
  const text = json === undefined ? "" : json.kind === "string" ? json.value : formatJson(json, source);
  return (
    <Panel
      title={title}
      kind="detail"
      testId="detail"
      host={panel}
      leave={leave}
      tools={
        <IconButton label="Copy the value" title="Copy the value" act={() => void copyText(text, "Value")}>
          <Copy />
        </IconButton>
      }
    >
      <Value json={json} type={type} source={source} list={list} title={title} />
    </Panel>
  );
}

function Value({ json, type, source, list, title }: Omit<Props, "close">) {
  if (json?.kind === "array" && type !== "json") {
    return (
      <>
        <p class="hint detail-note">{count(json.items.length, "item")}</p>
        {list(json, title)}
      </>
    );
  }
  if (json?.kind === "array" || json?.kind === "object") return <JsonValue json={json} source={source} />;
  if (json?.kind === "string" && type === "binary") return <BinaryValue base64={json.value} />;
  const text = json === undefined ? "" : json.kind === "string" ? json.value : source.slice(json.from, json.to);
  return (
    <pre class="detail-text fill" tabIndex={0}>
      {text}
    </pre>
  );
}

function JsonValue({ json, source }: { json: Json; source: string }) {
  const text = useMemo(() => formatJson(json, source, 48), [json]);
  return <Reader text={text} label="Value" />;
}

function BinaryValue({ base64 }: { base64: string }) {
  const { label, image } = describeBinary(base64);
  return (
    <div class="pad fill">
      <p class="soft">{label}</p>
      {image && <img class="preview" src={`data:${image};base64,${base64}`} alt={label} />}
    </div>
  );
}
