// The header of the page.

import { bearer, hasCredentials, logout, session } from "../api/session";
import { config } from "../config";
import { dialog, notify } from "../state";
import { setTheme, theme } from "../storage";
import { IconButton } from "./parts/controls";
import { Command, Logo, Moon, Person, Sun } from "./parts/icons";

export function Header() {
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <header class="top row">
      <Logo />
      <h1 class="title grow ellipsis">
        {config.title}
        <span class="subtitle faint wide-only">Playground</span>
      </h1>
      <button type="button" class="quiet" onClick={() => (dialog.value = "palette")}>
        <Command />
        <span class="shrinks">Commands</span>
        <kbd class="wide-only">Ctrl K</kbd>
      </button>
      {hasCredentials && <Account />}
      <IconButton label={`Switch to the ${other} theme`} title={`Switch to the ${other} theme`} testId="theme" act={() => setTheme(other)}>
        {other === "light" ? <Sun /> : <Moon />}
      </IconButton>
    </header>
  );
}

function Account() {
  const current = session.value;
  if (!current && bearer.value !== "") {
    return (
      <span class="account inline" data-testid="account">
        <Person />
        <span class="account-name">Bearer</span>
        <button type="button" class="quiet" onClick={() => (bearer.value = "")}>
          Remove
        </button>
      </span>
    );
  }
  if (!current) {
    return (
      <button type="button" class="quiet" data-testid="login" onClick={() => (dialog.value = "login")}>
        <Person />
        <span>Log in</span>
      </button>
    );
  }
  const until = new Date(current.expiresAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return (
    <span class="account inline" data-testid="account">
      <Person />
      <span class="account-name ellipsis" title={`Until ${until}`}>
        {current.login}
      </span>
      <button type="button" class="quiet" onClick={() => void logout().then(() => notify("Logged out"))}>
        Log out
      </button>
    </span>
  );
}
