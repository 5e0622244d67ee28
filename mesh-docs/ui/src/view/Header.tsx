// The header of the page.

import { batch } from "@preact/signals";
import { browse, view } from "../browse/state";
import { identity } from "../api/identity";
import { hasCredentials, lapsed, logout, session, setBearer } from "../api/session";
import { config } from "../config";
import { keyName } from "../keys";
import { notify } from "../notice";
import { entityOf } from "../schema";
import { dialog, mode, opened, query, schema, type Mode } from "../state";
import { setTheme, theme } from "../storage";
import { IconButton } from "./parts/controls";
import { Command, Logo, Moon, Person, Sun } from "./parts/icons";

const MODES: { id: Mode; label: string }[] = [
  { id: "query", label: "Query" },
  { id: "data", label: "Data" },
  { id: "diagram", label: "Diagram" },
];

/** Shows another view. The data browser begins with the entity of the query. */
function enterMode(next: Mode): void {
  if (next === mode.value) return;
  // There is no schema while it is loaded for another caller, who may not see the entity.
  const [known, entity] = [schema.value, query.value?.entity];
  const first = known && entity !== undefined ? entityOf(known, entity) : undefined;
  if (next === "data" && !view.value && first) return browse(first.name);
  batch(() => {
    mode.value = next;
    opened.value += 1;
  });
}

export function Header() {
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <header class="top row">
      <Logo />
      <h1 class="title grow ellipsis">
        {config.title}
        <span class="subtitle faint wide-only">Playground</span>
      </h1>
      <nav class="switch" aria-label="Views">
        {MODES.map(({ id, label }) => (
          <button key={id} type="button" class="flat" aria-current={mode.value === id ? "page" : undefined} data-testid={`mode-${id}`} onClick={() => enterMode(id)}>
            {label}
          </button>
        ))}
      </nav>
      <button type="button" class="quiet" onClick={() => (dialog.value = "palette")}>
        <Command />
        <span class="shrinks">Commands</span>
        <kbd class="wide-only">{keyName("Ctrl K")}</kbd>
      </button>
      {hasCredentials && <Account />}
      <IconButton label={`Switch to the ${other} theme`} title={`Switch to the ${other} theme`} testId="theme" act={() => setTheme(other)}>
        {other === "light" ? <Sun /> : <Moon />}
      </IconButton>
    </header>
  );
}

/** Who is logged in, with role and expiry. */
function Account() {
  const caller = identity.value;
  if (!caller) {
    return (
      <button type="button" class="quiet" data-testid="login" onClick={() => (dialog.value = "login")}>
        <Person />
        <span>{lapsed.value === null ? "Log in" : "Session ended: log in"}</span>
      </button>
    );
  }
  const until = caller.expiresAt === undefined ? "" : `until ${timeOf(caller.expiresAt)}`;
  const kind = session.value ? "" : "Bearer";
  const leave = (): void => (session.value ? void logout().then(() => notify("Logged out")) : setBearer(""));
  return (
    <span class="account inline" data-testid="account" title={[kind, caller.name, caller.role && `role ${caller.role}`, until].filter(Boolean).join(", ")}>
      <Person />
      <span class="account-name ellipsis">
        {kind && <span class="soft">{kind} </span>}
        {caller.name}
      </span>
      {caller.role && <span class="count account-role ellipsis">{caller.role}</span>}
      {until && <span class="faint wide-only">{until}</span>}
      {schema.value?.viewAs && (
        <button type="button" class="quiet" data-testid="view-as" title="View as another role" onClick={() => (dialog.value = "viewAs")}>
          <span class="wide-only">View</span> as…
        </button>
      )}
      <button type="button" class="quiet" data-testid="leave" onClick={leave}>
        {session.value ? "Log out" : "Remove"}
      </button>
    </span>
  );
}

/** Returns the time of an expiry, with its date if that is not today. */
function timeOf(ms: number): string {
  const time = new Date(ms);
  const clock = time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return time.toDateString() === new Date().toDateString() ? clock : `${time.toLocaleDateString()} ${clock}`;
}
