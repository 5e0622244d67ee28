// An error of a request, with what the server says about it.

import type { RequestError } from "../../api/client";

export function Refusal({ error }: { error: RequestError }) {
  const { code, path, line, column, requestId } = error.details;
  const facts = { Code: code, In: path, At: line && `line ${line}, column ${column}`, Request: requestId };
  return (
    <div class="refusal pad" role="alert" data-testid="refusal">
      <p class="bad strong">
        {error.status > 0 && <span class="status-code">{error.status}</span>}
        {error.kind}
      </p>
      <p class="refusal-message">{error.message}</p>
      <dl>
        {Object.entries(facts).map(
          ([name, value]) =>
            value && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ),
        )}
      </dl>
    </div>
  );
}
