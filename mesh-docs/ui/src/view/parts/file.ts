// Files that the page offers for download.

/** How long the browser may take to begin to read a file. */
const READ_MS = 60_000;

/** Saves a blob as a file of the reader. */
export function saveFile(blob: Blob, name: string, type: string): void {
  const url = URL.createObjectURL(new Blob([blob], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), READ_MS);
}
