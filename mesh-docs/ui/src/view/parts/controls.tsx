// Buttons and selects that several views use.

import type { ComponentChildren } from "preact";
import { Plus } from "./icons";

interface IconButtonProps {
  label: string;
  title?: string;
  testId?: string;
  act: () => void;
  children: ComponentChildren;
}

/** A button that shows only an icon. */
export function IconButton({ label, title, testId, act, children }: IconButtonProps) {
  return (
    <button type="button" class="quiet square" aria-label={label} title={title} data-testid={testId} onClick={act}>
      {children}
    </button>
  );
}

/** A button that adds a part to a form. */
export function AddButton({ testId, act, children }: { testId?: string; act: () => void; children: ComponentChildren }) {
  return (
    <button type="button" class="add" data-testid={testId} onClick={act}>
      <Plus /> {children}
    </button>
  );
}

/** What is wrong with the input of a form, which screen readers speak at once; nothing without a text. */
export function FormError({ text }: { text: string | undefined }) {
  if (!text) return null;
  return (
    <p class="form-error bad" role="alert">
      {text}
    </p>
  );
}

interface ChoiceProps {
  label?: string;
  value: string;
  options: readonly string[];
  /** What to show for a value instead of the value. */
  names?: Record<string, string>;
  class?: string;
  testId?: string;
  choose: (value: string) => void;
}

/** A select. A value that is not among the options is shown before them. */
export function Choice({ label, value, options, names = {}, testId, choose, ...rest }: ChoiceProps) {
  const all = options.includes(value) ? options : [value, ...options];
  return (
    <select aria-label={label} value={value} data-testid={testId} onChange={(event) => choose(event.currentTarget.value)} {...rest}>
      {all.map((option) => (
        <option key={option} value={option}>
          {names[option] ?? option}
        </option>
      ))}
    </select>
  );
}
