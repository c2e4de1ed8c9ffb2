// Builds one HTML file: script and styles inline, each allowed by its hash and nothing else.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

function hash(text: string): string {
  return `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;
}

/** The licences of everything that is inside the page: name, version and the whole text of each. */
function licences(): string[] {
  const names = Object.keys(JSON.parse(readFileSync("package.json", "utf8")).dependencies);
  const seen = new Set<string>();
  const texts = new Map<string, string[]>();
  const visit = (name: string) => {
    if (seen.has(name)) return;
    seen.add(name);
    const folder = `node_modules/${name}`;
    const about = JSON.parse(readFileSync(`${folder}/package.json`, "utf8"));
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    if (!file) throw new Error(`${name} has no licence file`);
    const text = readFileSync(`${folder}/${file}`, "utf8").trim();
    texts.set(text, [...(texts.get(text) ?? []), `${name} ${about.version} (${about.license})`]);
    Object.keys(about.dependencies ?? {}).forEach(visit);
  };
  names.forEach(visit);
  return [...texts].map(([text, owners]) => `${owners.join(", ")}\n\n${text}`);
}

function oneFile(): Plugin {
  return {
    name: "one-file",
    enforce: "post",
    generateBundle(_options, bundle) {
      let script = "";
      let style = "";
      for (const [file, part] of Object.entries(bundle)) {
        if (part.type === "chunk") script += part.code;
        else if (file.endsWith(".css")) style += part.source;
        if (!file.endsWith(".html")) delete bundle[file];
      }
      script = script.replace(/<\/script/gi, "<\\/script").trim();
      const page = bundle["index.html"];
      if (!page || page.type !== "asset") throw new Error("index.html is missing");
      const policy = [
        "default-src 'none'",
        `script-src ${hash(script)}`,
        `style-src ${hash(style)}`,
        "img-src data: blob:",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      let html = String(page.source);
      html = html.replace(/\s*<script type="module"[^>]*><\/script>/, "");
      html = html.replace(/\s*<link rel="stylesheet"[^>]*>/, "");
      html = html.replace("@POLICY@", () => policy);
      html = html.replace("<!--style-->", () => `<style>${style}</style>`);
      html = html.replace("<!--script-->", () => `<script type="module">${script}</script>`);
      page.source = html;
    },
  };
}

export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  define: { LICENCES: JSON.stringify(licences()) },
  build: { target: "es2020", cssCodeSplit: false, modulePreload: false, assetsInlineLimit: 0 },
  plugins: [oneFile()],
  // A busy machine may be slow; the limits only end what hangs.
  test: { include: ["test/**/*.test.ts"], testTimeout: 900_000, hookTimeout: 300_000 },
} as Parameters<typeof defineConfig>[0]);
