// The forms for a login and for a bearer.

import { useState } from "preact/hooks";
import { continueAnonymously, lapsed, login, setBearer } from "../../api/session";
import { config } from "../../config";
import { notify } from "../../notice";
import { dialog } from "../../state";
import { FormError } from "../parts/controls";
import { Dialog, DialogForm } from "./Dialog";

export function LoginDialog() {
  return (
    <Dialog title="Log in">
      {lapsed.value !== null && <Ended name={lapsed.value} />}
      {config.integrity && <LoginForm />}
      {config.bearer && <BearerForm />}
    </Dialog>
  );
}

/** What happened to the session, and the way to go on without one. */
function Ended({ name }: { name: string }) {
  const goOn = (): void => {
    dialog.value = null;
    continueAnonymously();
  };
  return (
    <p class="ended row wrap spread" role="alert" data-testid="lapsed">
      <span>{name === "Bearer" ? "The server does not accept the bearer any more." : `The session of ${name} has ended.`} Your query is kept.</span>
      <button type="button" class="small" onClick={goOn}>
        Go on without a login
      </button>
    </p>
  );
}

function BearerForm() {
  const [text, setText] = useState("");
  const submit = (): void => {
    dialog.value = null;
    setBearer(text);
  };
  return (
    <DialogForm action="Use the bearer" submit={submit}>
      <p class="hint">A token of your identity provider, or an API key. This page keeps it in memory until it is closed or reloaded.</p>
      <label class="soft">
        Bearer
        <input name="bearer" type="password" autocomplete="off" data-focus required value={text} onInput={(event) => setText(event.currentTarget.value)} />
      </label>
    </DialogForm>
  );
}

function LoginForm() {
  const known = lapsed.value === null || lapsed.value === "Bearer" ? "" : lapsed.value;
  const [name, setName] = useState(known);
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
    <DialogForm action="Log in" disabled={isBusy} submit={() => void submit()}>
      <p class="hint">Requests are signed in this browser; the signing key does not leave it.</p>
      <label class="soft">
        Login
        <input name="login" autocomplete="username" data-focus={known === "" || undefined} required value={name} onInput={(event) => setName(event.currentTarget.value)} />
      </label>
      <label class="soft">
        Password
        <input name="password" type="password" autocomplete="current-password" data-focus={known !== "" || undefined} required value={password} onInput={(event) => setPassword(event.currentTarget.value)} />
      </label>
      <FormError text={error} />
    </DialogForm>
  );
}
