// The downloads of the data browser.

import { download, hasExport } from "../../browse/download";
import { Menu } from "../parts/Menu";

export function Downloads() {
  const note = hasExport() ? "all rows" : "this page";
  return (
    <Menu
      label="Download"
      testId="download"
      face="Download"
      items={[
        { label: "CSV", note, act: () => void download("csv") },
        { label: "NDJSON", note, act: () => void download("ndjson") },
      ]}
    />
  );
}
