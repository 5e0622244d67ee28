// The entry point of the page.

import { render } from "preact";
import "./style/index.css";
import { start } from "./start";
import { App } from "./view/App";

start();
const root = document.getElementById("app");
if (root) {
  // What the page shows until it has its script.
  root.replaceChildren();
  render(<App />, root);
}
