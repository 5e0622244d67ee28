// The login form.

import { useState } from "preact/hooks";
import { login } from "../../api/session";
import { dialog, notify } from "../../state";
import { Dialog, DialogForm } from "./Dialog";

export function LoginDialog() {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setError("");
    try {
      await login(name, password);
      dialog.value = null;
      notify(`Logged in as ${name}`);
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    }
    setBusy(false);
  };
  return (
    <Dialog title="Log in">
      <DialogForm action="Log in" disabled={isBusy} submit={() => void submit()}>
        <p class="hint">Requests are signed in this browser; the signing key does not leave it.</p>
        <label class="soft">
          Login
          <input name="login" autocomplete="username" data-focus required value={name} onInput={(event) => setName(event.currentTarget.value)} />
        </label>
        <label class="soft">
          Password
          <input name="password" type="password" autocomplete="current-password" required value={password} onInput={(event) => setPassword(event.currentTarget.value)} />
        </label>
        {error && (
          <p class="form-error bad" role="alert">
            {error}
          </p>
        )}
      </DialogForm>
    </Dialog>
  );
}
