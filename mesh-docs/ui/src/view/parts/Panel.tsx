// A panel beside a table, which its button and Escape close.

import type { ComponentChildren, RefObject } from "preact";
import { IconButton } from "./controls";
import { Close } from "./icons";

interface Props {
  title: string;
  kind: string;
  testId: string;
  host?: RefObject<HTMLElement | null>;
  /** Buttons before the one that closes. */
  tools?: ComponentChildren;
  leave: () => void;
  children: ComponentChildren;
}

export function Panel({ title, kind, testId, host, tools, leave, children }: Props) {
  return (
    <section
      {...(host && { ref: host })}
      class={`${kind} column`}
      aria-label={title}
      data-testid={testId}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.defaultPrevented) return;
        event.preventDefault();
        leave();
      }}
    >
      <header class="detail-head row">
        <h2 class="grow ellipsis" title={title}>
          {title}
        </h2>
        {tools}
        <IconButton label="Close" title="Close (Escape)" act={leave}>
          <Close />
        </IconButton>
      </header>
      {children}
    </section>
  );
}
