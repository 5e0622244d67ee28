// Views that are loaded when they are first shown.

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";

/** Returns a view that stands for one of another file. */
export function later<Props extends object>(load: () => Promise<ComponentType<Props>>): ComponentType<Props> {
  const loaded = signal<{ View: ComponentType<Props> } | null>(null);
  const hasFailed = signal(false);
  const start = async (): Promise<void> => {
    hasFailed.value = false;
    try {
      loaded.value = { View: await load() };
    } catch {
      hasFailed.value = true;
    }
  };
  return function Later(props: Props) {
    useEffect(() => void (loaded.value ?? start()), []);
    const known = loaded.value;
    if (known) return <known.View {...props} />;
    if (!hasFailed.value) return <p class="hint pad">Loading…</p>;
    return (
      <div class="pad">
        <p class="form-error bad">This view could not be loaded.</p>
        <button type="button" class="small" onClick={() => void start()}>
          Try again
        </button>
      </div>
    );
  };
}
