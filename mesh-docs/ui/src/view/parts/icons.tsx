// Icons, drawn on a grid of sixteen units.

import type { ComponentChildren } from "preact";

function icon(children: ComponentChildren) {
  const stroke = { fill: "none", stroke: "currentColor", "stroke-width": "1.4", "stroke-linecap": "round", "stroke-linejoin": "round" } as const;
  return () => (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false" {...stroke}>
      {children}
    </svg>
  );
}

export const Logo = () => (
  <svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true" focusable="false">
    <rect fill="var(--act-soft)" width="32" height="32" rx="7" />
    <path fill="none" stroke="var(--act)" stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round" d="M9 23V11l7 7 7-7v12" />
    <circle fill="var(--relate)" cx="9" cy="10" r="2.6" />
    <circle fill="var(--relate)" cx="23" cy="10" r="2.6" />
  </svg>
);
export const Play = icon(<path d="M4.5 2.8v10.4L13 8z" fill="currentColor" stroke="none" />);
export const Search = icon(<path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zm3.6-1.4L14 14" />);
export const Chevron = icon(<path d="M6 3.5 10.5 8 6 12.5" />);
export const Copy = icon(<path d="M5.5 5.5v-3h8v8h-3m-8-5h8v8h-8z" />);
export const Share = icon(<path d="M6.7 9.3a2.5 2.5 0 0 0 3.6 0l2.5-2.5a2.5 2.5 0 0 0-3.6-3.6l-1 1m1.1 2.5a2.5 2.5 0 0 0-3.6 0L3.2 9.2a2.5 2.5 0 0 0 3.6 3.6l1-1" />);
export const Star = icon(<path d="m8 2 1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5z" />);
export const Sun = icon(<path d="M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9 13 13M3 13l1.1-1.1M11.9 4.1 13 3" />);
export const Moon = icon(<path d="M13.5 9.8A6 6 0 0 1 6.2 2.5a6 6 0 1 0 7.3 7.3z" />);
export const Close = icon(<path d="m4 4 8 8m0-8-8 8" />);
export const Plus = icon(<path d="M8 3v10M3 8h10" />);
export const Tidy = icon(<path d="M2.5 3.5h11M5.5 6.5h8M5.5 9.5h8M2.5 12.5h11" />);
export const Person = icon(<path d="M8 8a2.8 2.8 0 1 0 0-5.6A2.8 2.8 0 0 0 8 8zm-5.5 6c.4-2.6 2.6-4 5.5-4s5.1 1.4 5.5 4" />);
export const Bookmark = icon(<path d="M4 2.5h8v11l-4-3-4 3z" />);
export const Command = icon(<path d="m3 5 3 3-3 3m5 .5h5" />);
export const Up = icon(<path d="M8 13V3.5M4 7l4-4 4 4" />);
export const Down = icon(<path d="M8 3v9.5M4 9l4 4 4-4" />);
