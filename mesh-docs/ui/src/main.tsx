// The entry point of the page.

import { render } from "preact";
import "./style/index.css";
import { setTheme, theme } from "./storage";
import { start } from "./state";
import { App } from "./view/App";

setTheme(theme.value);
start();
const root = document.getElementById("app");
if (root) render(<App />, root);
