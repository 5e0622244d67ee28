// Mounting of editors under a Content-Security-Policy without inline styles.
//
// The editor would add a `<style>` element to the head, which the policy blocks. Constructed style sheets are set
// by script, which the policy permits.

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
