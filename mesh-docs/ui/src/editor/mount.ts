// How do the editor's styles get into a page whose policy allows no inline styles?
//
// The editor would put a `<style>` element into the head, which the policy blocks, and rightly. Constructed
// style sheets are set by script through the DOM, which it allows.

import { StyleModule } from "style-mod";

const mounted = new Set<StyleModule>();

function mount(root: Document | ShadowRoot | DocumentOrShadowRoot, modules: StyleModule | readonly StyleModule[]): void {
  const added = (Array.isArray(modules) ? (modules as readonly StyleModule[]) : [modules as StyleModule]).filter((one) => !mounted.has(one));
  if (added.length === 0) return;
  for (const one of added) mounted.add(one);
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(added.map((one) => one.getRules()).join("\n"));
  // What is mounted first is the strongest, as with the editor's own way; the page's rules name `#app`, which wins.
  root.adoptedStyleSheets = [sheet, ...root.adoptedStyleSheets];
}

(StyleModule as unknown as { mount: typeof mount }).mount = mount;
