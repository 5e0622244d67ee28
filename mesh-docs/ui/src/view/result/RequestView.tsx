// The HTTP request of the query in the editor, and its response.

import type { Message, Way } from "../../api/exchange";
import { config } from "../../config";
import { milliseconds, size } from "../../format";
import { chooseWay, isOtherSent, send, sendError, sent, way } from "../../sent";
import { isQuery } from "../../state";

const WAYS: { id: Way; label: string }[] = [
  { id: "get", label: "GET" },
  { id: "post", label: "POST" },
  ...(config.persisted ? [{ id: "id" as const, label: "By id" }] : []),
];
/** The most of a body that is shown. */
const BODY_MAX = 4000;

export function RequestView() {
  const shown = sent.value?.exchange;
  const tag = shown?.etag ?? null;
  return (
    <div class="fill" data-testid="request">
      <div class="request-head row wrap">
        <div class="switch" role="group" aria-label="How the query is sent">
          {WAYS.map(({ id, label }) => (
            <button key={id} type="button" class="flat" data-testid={`way-${id}`} aria-pressed={way.value === id} onClick={() => chooseWay(id)}>
              {label}
            </button>
          ))}
        </div>
        <button type="button" class="primary" data-testid="send" disabled={!isQuery.value} onClick={() => void send(null)}>
          Send
        </button>
        {tag !== null && way.value !== "post" && !isOtherSent.value && (
          <button type="button" data-testid="send-tag" onClick={() => void send(tag)}>
            Send with its ETag
          </button>
        )}
      </div>
      {sendError.value && <p class="form-error bad pad">{sendError.value}</p>}
      {!shown && !sendError.value && <p class="hint pad">Sends the query in the editor to its route, and shows what goes over the wire.</p>}
      {isOtherSent.value && (
        <p class="stale row" role="status" data-testid="sent-stale">
          This belongs to another query than the one in the editor.
        </p>
      )}
      {shown && (
        <>
          <Part title="Request" message={shown.request} />
          <Part title={`Response, ${size(new Blob([shown.response.body]).size)} in ${milliseconds(shown.elapsedMs)}`} message={shown.response} />
        </>
      )}
    </div>
  );
}

function Part({ title, message: { line, headers, body } }: { title: string; message: Message }) {
  return (
    <section class="request-part">
      <h2>{title}</h2>
      <pre tabIndex={0}>
        <span class="strong">{line}</span>
        {"\n"}
        {headers.map(([name, value]) => (
          <span key={name}>
            <span class="relate">{name}</span>: {value}
            {"\n"}
          </span>
        ))}
        {body && `\n${body.slice(0, BODY_MAX)}${body.length > BODY_MAX ? "…" : ""}`}
      </pre>
    </section>
  );
}
