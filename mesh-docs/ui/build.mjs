// Builds the page's files into ../assets, or into the folder given as an argument.
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "..", "assets"));

await mkdir(out, { recursive: true });
await build({
  absWorkingDir: here,
  // The pictures are loaded when they are first shown; both share one more file.
  entryPoints: { app: "src/main.tsx", pictures: "src/view/pictures.ts" },
  outdir: out,
  bundle: true,
  splitting: true,
  chunkNames: "shared",
  format: "esm",
  target: ["es2022"],
  minify: true,
  legalComments: "none",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  logLevel: "warning",
});
await copyFile(join(here, "src", "icon.svg"), join(out, "icon.svg"));
