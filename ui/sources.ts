// The digest of this folder's sources, written into the build. `check.py` computes the same without Node:
// the committed page must be the one that these files give.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

const SINGLE_FILES = ["index.html", "package-lock.json", "package.json", "playground.html", "sources.ts", "tsconfig.json", "vite.config.ts"];

function filesBelow(root: string, folder: string): string[] {
  return readdirSync(join(root, folder)).flatMap((name) => {
    const path = `${folder}/${name}`;
    return statSync(join(root, path)).isDirectory() ? filesBelow(root, path) : [path];
  });
}

/** SHA-256 over the path and content of every source file, in the order of their paths. */
export function sourceDigest(root: string): string {
  const digest = createHash("sha256");
  for (const path of [...SINGLE_FILES, ...filesBelow(root, "public"), ...filesBelow(root, "src")].sort()) {
    digest.update(`${path}\0`);
    digest.update(readFileSync(join(root, path), "utf-8").replaceAll("\r\n", "\n"));
    digest.update("\0");
  }
  return digest.digest("hex");
}
