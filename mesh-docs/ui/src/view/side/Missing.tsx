// What is shown while there is no schema, and when it could not be loaded.

import { hasCredentials } from "../../api/session";
import { loadSchema } from "../../start";
import { dialog, schemaError } from "../../state";

export function Missing() {
  const error = schemaError.value;
  if (!error) return <p class="hint pad">Loading the schema…</p>;
  const needsLogin = error.status === 401;
  return (
    <div class="pad">
      <p class="form-error bad missing">{needsLogin ? "This playground requires a login with access to it." : error.message}</p>
      {needsLogin && hasCredentials ? (
        <button type="button" class="primary" onClick={() => (dialog.value = "login")}>
          Log in
        </button>
      ) : (
        <Retry />
      )}
    </div>
  );
}

/** That the schema could not be loaded again. The one that was loaded before is shown. */
export function Failure() {
  return (
    <div class="stale row wrap" role="alert">
      <span class="grow">{schemaError.value?.message}</span>
      <Retry />
    </div>
  );
}

function Retry() {
  return (
    <button type="button" class="small" data-testid="retry" onClick={() => void loadSchema()}>
      Try again
    </button>
  );
}
