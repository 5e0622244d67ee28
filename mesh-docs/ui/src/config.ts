// Settings of the page, which the server writes into the head of the HTML.

function meta(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name="mesh-${name}"]`)?.content ?? "";
}

const offers = new Set(meta("offers").split(" "));

export const config = {
  /** The prefix of the docs routes. */
  docs: meta("docs"),
  /** The base path of the reads. */
  base: meta("base"),
  title: meta("title"),
  /** Whether replies contain SQL statements. */
  sql: meta("sql") === "dev",
  integrity: offers.has("integrity"),
  bearer: offers.has("bearer"),
  /** Whether the signatures of all requests, or of writes, must cover method and path. */
  binding: offers.has("binding"),
  boundWrites: offers.has("bound-writes"),
  persisted: offers.has("persisted"),
  events: offers.has("events"),
};
