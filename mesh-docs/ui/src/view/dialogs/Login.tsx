// The login form.

import { useState } from "preact/hooks";
import { login } from "../../api/session";
import { dialog, say } from "../../state";
import { Dialog } from "./Dialog";

export function LoginDialog() {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError("");
    try {
      await login(name, password);
      dialog.value = null;
      say(`Logged in as ${name}`);
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title="Log in">
      <form class="form" onSubmit={(event) => void send(event)}>
        <p class="hint">Requests are signed in this browser; the signing key does not leave it.</p>
        <label>
          Login
          <input name="login" autocomplete="username" data-focus required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label>
          Password
          <input name="password" type="password" autocomplete="current-password" required value={password} onInput={(event) => setPassword(event.currentTarget.value)} />
        </label>
        {error && (
          <p class="form-error" role="alert">
            {error}
          </p>
        )}
        <div class="form-end">
          <button type="submit" class="primary" disabled={busy}>
            Log in
          </button>
        </div>
      </form>
    </Dialog>
  );
}
