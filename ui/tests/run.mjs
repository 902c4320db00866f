// Runs the tests of this folder: `npm test`. Bundled first, since Node before 22.18 reads no TypeScript.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "vite";

const folder = mkdtempSync(join(tmpdir(), "somelab-ui-"));
try {
  const tests = readdirSync(import.meta.dirname).filter((name) => name.endsWith(".test.ts"));
  await build({
    configFile: false,
    root: join(import.meta.dirname, ".."),
    logLevel: "warn",
    build: { ssr: true, outDir: folder, emptyOutDir: true, rollupOptions: { input: tests.map((name) => join(import.meta.dirname, name)), output: { entryFileNames: "[name].mjs" } } },
  });
  const built = readdirSync(folder).filter((name) => name.endsWith(".test.mjs")).map((name) => join(folder, name));
  const environment = { ...process.env, TRAJECTORIES: join(import.meta.dirname, "trajectories.json") };
  process.exitCode = spawnSync(process.execPath, ["--test", ...built], { stdio: "inherit", env: environment }).status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
