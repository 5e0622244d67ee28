// Tabs with arrow-key navigation.

interface Props<T extends string> {
  label: string;
  tabs: { id: T; label: string; note?: string }[];
  chosen: T;
  choose: (id: T) => void;
  panel: string;
}

export function Tabs<T extends string>({ label, tabs, chosen, choose, panel }: Props<T>) {
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.id === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    choose(next.id);
    // At once, so that the next key finds the focus where this one has moved it.
    document.getElementById(`${panel}-${next.id}`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map((tab) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          class="flat"
          id={`${panel}-${tab.id}`}
          aria-selected={tab.id === chosen}
          aria-controls={panel}
          tabIndex={tab.id === chosen ? 0 : -1}
          onClick={() => choose(tab.id)}
        >
          {tab.label}
          {tab.note && <span class="count">{tab.note}</span>}
        </button>
      ))}
    </div>
  );
}
