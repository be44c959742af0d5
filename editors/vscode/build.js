// Bundles the extension into dist/, with the licences of the project and of all bundled packages.
"use strict";

const { build } = require("esbuild");
const { readFileSync, readdirSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");

/** Return the texts of the licences in a folder, below a title. */
function licences(title, folder) {
  const names = readdirSync(folder).filter((name) => /^licen[cs]e/i.test(name));
  if (!names.length) {
    throw new Error(`${title} has no licence file`);
  }
  return [title, ...names.map((name) => readFileSync(join(folder, name), "utf8"))];
}

build({
  entryPoints: ["extension.js"],
  outfile: "dist/extension.js",
  bundle: true,
  minify: true,
  platform: "node",
  target: "node18",
  external: ["vscode"],
  metafile: true,
}).then(({ metafile }) => {
  // The last `node_modules` of a path names the package, which can be inside of another one.
  const pattern = /^(.*node_modules\/((?:@[^/]+\/)?[^/]+))\//;
  const found = Object.keys(metafile.inputs).map((input) => pattern.exec(input));
  const folders = new Map(found.filter(Boolean).map(([, folder, name]) => [folder, name]));
  const parts = [licences("slowpath", join("..", ".."))];
  for (const [folder, name] of [...folders].sort()) {
    parts.push(licences(name, folder));
  }
  writeFileSync("dist/LICENSES", parts.map((part) => part.join("\n\n")).join("\n\n---\n\n"));
});
