// Builds a page into one HTML file: script and style inlined, each allowed by its hash alone, nothing loaded from anywhere.
// `vite build` makes index.html, `vite build --mode playground` the playground, each with only the code that it needs.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";
import { sourceDigest } from "./sources.ts";

const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text, "utf-8").digest("base64")}'`;

/** What the browser may do: run this one script, use this one style sheet, talk to the server that sent the page. */
function policy(script: string, style: string): string {
  return [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

function singleFile(): Plugin {
  return {
    name: "single-file",
    enforce: "post",
    apply: "build",
    generateBundle(_, bundle) {
      let script = "";
      let style = "";
      for (const [name, file] of Object.entries(bundle)) {
        if (file.type === "chunk") script += file.code;
        else if (name.endsWith(".css")) style += String(file.source);
        if (!name.endsWith(".html")) delete bundle[name];
      }
      script = script.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
      style = style.trim();
      const page = Object.values(bundle).find((file) => file.fileName.endsWith(".html"));
      if (page?.type !== "asset") throw new Error("the build gave no page");
      const notice = readFileSync(new URL("./public/NOTICE.txt", import.meta.url), "utf-8");
      const head = [
        `<!--\n${notice}-->`,
        `<meta http-equiv="Content-Security-Policy" content="${policy(script, style)}">`,
        `<meta name="ui-sources" content="${sourceDigest(import.meta.dirname)}">`,
        `<style>${style}</style>`,
      ];
      page.source = String(page.source)
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace("<!--head-->", () => head.join("\n"))
        .replace("<!--script-->", () => `<script type="module">${script}</script>`);
    },
  };
}

export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: [singleFile()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../src/somelab/view/static",
    emptyOutDir: mode !== "playground",
    copyPublicDir: mode !== "playground",
    rollupOptions: { input: mode === "playground" ? "playground.html" : "index.html" },
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: false,
    assetsInlineLimit: 1_000_000,
    reportCompressedSize: false,
  },
  server: { proxy: { "/api": "http://127.0.0.1:8000" } },
}));
