// Bundles the editor for `podberth playground`, with the licences of what is inside. The output depends on
// package-lock.json and editor.js alone.
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

const target = process.argv[2];
const { metafile } = await build({
  entryPoints: ["editor.js"], outfile: `${target}/editor.js`, bundle: true, format: "esm", minify: true,
  target: "es2022", charset: "utf8", legalComments: "none", metafile: true, logLevel: "warning",
});
const names = new Set();
for (const file of Object.keys(metafile.inputs)) {
  const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file);
  if (found) names.add(found[1]);
}
const parts = [...names].sort().map((name) => {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
});
writeFileSync(`${target}/editor.LICENSES.txt`, `editor.js contains:\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`);
