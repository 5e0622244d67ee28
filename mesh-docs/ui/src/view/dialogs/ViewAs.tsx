// The form for the session that an administrator views the data as, and what says so.

import { useState } from "preact/hooks";
import { viewAs } from "../../api/viewAs";
import { dialog, schema } from "../../state";
import { Choice, FormError } from "../parts/controls";
import { Dialog, DialogForm } from "./Dialog";

/** Parses claims in lines such as `teamIds = [1, 2]`; a value that is no JSON is text. Throws an error that names a wrong line. */
export function parseClaims(text: string): Record<string, unknown> {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      if (at < 1) throw new Error(`“${line.trim()}” is not of the form name = value`);
      const value = line.slice(at + 1).trim();
      return [line.slice(0, at).trim(), valueOf(value)];
    }),
  );
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function linesOf(claims: Record<string, unknown> | undefined): string {
  return Object.entries(claims ?? {})
    .map(([name, value]) => `${name} = ${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("\n");
}

export function ViewAsDialog() {
  const roles = schema.value?.viewAs ?? [];
  const before = viewAs.value;
  const [role, setRole] = useState(before?.role ?? roles[0] ?? "");
  const [user, setUser] = useState(before?.user ?? "");
  const [tenant, setTenant] = useState(before?.tenant ?? "");
  const [claims, setClaims] = useState(linesOf(before?.claims));
  const [error, setError] = useState("");
  const submit = (): void => {
    try {
      const values = parseClaims(claims);
      viewAs.value = { role, ...(user && { user }), ...(tenant && { tenant }), ...(Object.keys(values).length > 0 && { claims: values }) };
      dialog.value = null;
    } catch (failure) {
      setError(failure instanceof Error ? failure.message : String(failure));
    }
  };
  return (
    <Dialog title="View as another role">
      <DialogForm action="View" submit={submit}>
        <p class="hint">Queries read what the policies of this role permit. Nothing can be written meanwhile, and the server records each query in its audit log.</p>
        <label class="soft">
          Role
          <Choice value={role} options={roles} names={{ "*": "any other role" }} testId="view-role" choose={setRole} />
        </label>
        <label class="soft">
          User id
          <input name="user" data-focus autocomplete="off" placeholder="none" value={user} onInput={(event) => setUser(event.currentTarget.value)} />
        </label>
        <label class="soft">
          Tenant
          <input name="tenant" autocomplete="off" placeholder="none" value={tenant} onInput={(event) => setTenant(event.currentTarget.value)} />
        </label>
        <label class="soft">
          Claims, one per line
          <textarea name="claims" rows={3} spellcheck={false} placeholder="teamIds = [1, 2]" value={claims} onInput={(event) => setClaims(event.currentTarget.value)} />
        </label>
        <FormError text={error} />
      </DialogForm>
    </Dialog>
  );
}

/** Says whom the data is viewed as. */
export function ViewBar() {
  const view = viewAs.value;
  if (!view) return null;
  const parts = [view.user && `user ${view.user}`, view.tenant && `tenant ${view.tenant}`, view.claims && linesOf(view.claims).replaceAll("\n", ", ")];
  return (
    <div class="view-bar row" role="status" data-testid="view-bar">
      <span class="grow ellipsis">
        Viewing as <strong>{view.role === "*" ? "any other role" : view.role}</strong>
        {parts.filter(Boolean).map((part) => `, ${part}`)}. Read only.
      </span>
      <button type="button" class="small" onClick={() => (dialog.value = "viewAs")}>
        Change
      </button>
      <button type="button" class="small" data-testid="view-stop" onClick={() => (viewAs.value = null)}>
        Stop
      </button>
    </div>
  );
}
