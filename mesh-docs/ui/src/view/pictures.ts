// The views that are loaded when they are first shown.

export { Diagram } from "./diagram/Diagram";
