// Several reads as one request, which see the same data. `SPEC §18.4`

import { config } from "../config";
import { member, parseJson } from "../query/json";
import { withoutReferences } from "../write/body";
import { post, readPath, RequestError, sizeOf, type Answer, type QueryRequest } from "./client";

/** The most steps of a batch. */
export const STEPS_MAX = 100;

/** A read with the entity of its query. */
export interface BatchRead {
  entity: string;
  request: QueryRequest;
}

/** Returns the text of the body that sends reads as a batch. */
export function batchBody(reads: readonly BatchRead[]): string {
  const step = ({ entity, request: { query, format, id, params } }: BatchRead): string => {
    const text = JSON.stringify({ method: "GET", path: readPath(entity, id).slice(config.base.length), query, format });
    // The values are text, so that numbers keep their digits. None refers to another read.
    return params === undefined ? text : `${text.slice(0, -1)},"params":${withoutReferences(params)}}`;
  };
  return `{"steps":[${reads.map(step).join(",")}]}`;
}

/** Runs reads as one batch and returns their answers in this order. */
export async function executeAll(reads: readonly BatchRead[], signal: AbortSignal): Promise<Answer[]> {
  const start = performance.now();
  const reply = await post(`${config.base}/batch`, batchBody(reads), signal);
  const source = await reply.text();
  const elapsedMs = performance.now() - start;
  const results = member(parseJson(source), "results");
  const answers = (results?.kind === "array" ? results.items : []).flatMap((result): Answer[] => {
    const data = member(result, "body");
    return data ? [{ source, data, meta: undefined, size: sizeOf(source, data), elapsedMs, status: reply.status }] : [];
  });
  if (answers.length !== reads.length) throw new RequestError(reply.status, "Error", "The server sent an unexpected reply");
  return answers;
}
