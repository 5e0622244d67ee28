// A field with a list of options that is searched by typing.

import { useEffect, useId, useRef, useState } from "preact/hooks";

/** The most options that are shown; typing narrows them. */
const SHOWN_MAX = 200;

interface Props {
  label: string;
  value: string;
  options: readonly string[];
  placeholder?: string;
  testId?: string;
  choose: (value: string) => void;
}

/** Returns the options that contain the typed text, first those that begin with it. */
function matching(options: readonly string[], typed: string): string[] {
  const wanted = typed.trim().toLowerCase();
  const found = options.filter((option) => option.toLowerCase().includes(wanted));
  const rank = (option: string): number => (option.toLowerCase().startsWith(wanted) ? 0 : 1);
  return found.sort((one, other) => rank(one) - rank(other)).slice(0, SHOWN_MAX);
}

export function Combobox({ label, value, options, placeholder, testId, choose }: Props) {
  const id = useId();
  /** The typed text; `null` while the list is closed. */
  const [typed, setTyped] = useState<string | null>(null);
  /** Whether the text was typed since the list was opened. Until then all options are shown. */
  const [isSearch, setSearch] = useState(false);
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const input = useRef<HTMLInputElement>(null);
  const isOpen = typed !== null;
  const found = isOpen ? matching(options, isSearch ? typed : "") : [];
  const active = Math.min(at, found.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [active, typed]);
  const close = (): void => {
    setTyped(null);
    if (input.current) input.current.value = value;
  };
  const open = (): void => {
    setTyped(value);
    setSearch(false);
    setAt(Math.max(0, options.indexOf(value)));
    input.current?.select();
  };
  const take = (option: string | undefined): void => {
    close();
    if (option !== undefined && option !== value) choose(option);
  };
  const keys = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    if (step !== undefined && !isOpen) open();
    else if (step !== undefined) setAt(Math.min(Math.max(active + step, 0), found.length - 1));
    else if (event.key === "Enter" && isOpen && !event.ctrlKey && !event.metaKey) take(found[active]);
    else if (event.key === "Escape" && isOpen) close();
    else return;
    event.preventDefault();
  };
  return (
    <span class="combobox" onFocusOut={() => isOpen && close()}>
      <input
        ref={input}
        role="combobox"
        aria-label={label}
        aria-autocomplete="list"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        aria-activedescendant={isOpen && active >= 0 ? `${id}-${active}` : undefined}
        data-testid={testId}
        title={value}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        style={{ width: `${Math.max(value.length, placeholder?.length ?? 0, 4) + 1}ch` }}
        value={typed ?? value}
        onInput={(event) => (setTyped(event.currentTarget.value), setSearch(true), setAt(0))}
        onChange={(event) => options.includes(event.currentTarget.value) && take(event.currentTarget.value)}
        onClick={() => !isOpen && open()}
        onKeyDown={keys}
      />
      {isOpen && (
        <ul class="combobox-list" id={id} role="listbox" aria-label={label} ref={list}>
          {found.map((option, index) => (
            <li
              key={option}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === active}
              // The field keeps the focus, so that the list is not closed before the click.
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => take(option)}
              onMouseMove={() => setAt(index)}
            >
              {option}
            </li>
          ))}
          {found.length === 0 && (
            <li class="faint" role="option" aria-selected="false" aria-disabled="true">
              No matches
            </li>
          )}
        </ul>
      )}
    </span>
  );
}
