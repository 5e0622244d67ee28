// The header of the page.

import { logout, session } from "../api/session";
import { config } from "../config";
import { dialog, say } from "../state";
import { setTheme, theme } from "../storage";
import { Command, Logo, Moon, Person, Sun } from "./parts/icons";

export function Header() {
  const other = theme.value === "dark" ? "light" : "dark";
  return (
    <header class="top">
      <Logo />
      <h1 class="title">
        {config.title}
        <span class="subtitle">Playground</span>
      </h1>
      <button type="button" class="quiet palette-open" onClick={() => (dialog.value = "palette")}>
        <Command />
        <span class="shrinks">Commands</span>
        <kbd class="wide-only">Ctrl K</kbd>
      </button>
      {config.integrity && <Account />}
      <button type="button" class="quiet square" data-testid="theme" aria-label={`Switch to the ${other} theme`} title={`Switch to the ${other} theme`} onClick={() => setTheme(other)}>
        {other === "light" ? <Sun /> : <Moon />}
      </button>
    </header>
  );
}

function Account() {
  const current = session.value;
  if (!current) {
    return (
      <button type="button" class="quiet" data-testid="login" onClick={() => (dialog.value = "login")}>
        <Person />
        <span>Log in</span>
      </button>
    );
  }
  const until = new Date(current.expiresAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  const leave = (): void => {
    void logout().then(() => say("Logged out"));
  };
  return (
    <span class="account" data-testid="account">
      <Person />
      <span class="account-name" title={`Until ${until}`}>
        {current.login}
      </span>
      <button type="button" class="quiet" onClick={leave}>
        Log out
      </button>
    </span>
  );
}
