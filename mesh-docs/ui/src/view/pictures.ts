// The views that are loaded when they are first shown.

export { Chart } from "./chart/Chart";
export { Diagram } from "./diagram/Diagram";
