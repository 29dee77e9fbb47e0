// Makes the index of the search, of the pages that the generator wrote: node index.mjs FOLDER
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import MiniSearch from "minisearch";
import { options } from "./assets/words.js";

const folder = process.argv[2];
const entities = { amp: "&", lt: "<", gt: ">", quot: '"', "#34": '"', "#39": "'" };
const plain = (html) => html.replace(/<wbr>|<span class="?whole"?>([^<]*)<\/span>/g, "$1").replace(/<(?:[^>"]|"[^"]*")*>/g, " ").replace(/&(#?\w+);/g, (all, name) => entities[name] ?? (name[0] === "#" ? String.fromCodePoint(+name.slice(1)) : all)).replace(/\s+/g, " ").trim();

const index = new MiniSearch({ ...options, idField: "id" });
let pages = 0;
for (const name of readdirSync(folder, { recursive: true }).filter((n) => n.endsWith(".html")).sort()) {
  const html = readFileSync(join(folder, name), "utf8");
  const [, head, body] = html.match(/<main id="?main"?([^]*?)>([^]*)<\/main>/) ?? [];
  if (body === undefined) throw new Error(`${name} has no <main>`);
  // The first page and those of old addresses only lead to others.
  if (name === "index.html" || name === "404.html" || /data-moved/.test(head)) continue;
  pages++;
  const title = plain(html.match(/<title>([^<]*)<\/title>/)[1]).replace(/ · Sotto$/, "");
  const questions = plain(head.match(/data-questions="([^"]*)"/)?.[1] ?? "");
  const section = head.match(/data-section="?(\w+)/)?.[1] ?? "";
  const text = body.replace(/<p class="?source[^]*$/, "");
  // A section is from one heading to the next. The first one stands for the page.
  const parts = text.split(/(?=<h[23] id=)/);
  parts.forEach((part, i) => {
    const [, anchor = "", heading = ""] = part.match(/^<h[23] id="?([^" >]+)"?[^>]*>([^]*?)<\/h[23]>/) ?? [];
    const rest = plain(part.replace(/^<h[23][^]*?<\/h[23]>/, "").replace(/<h1[^]*?<\/h1>/, ""));
    index.add({ id: index.documentCount, page: name.replaceAll("\\", "/"), title, heading: plain(heading), anchor, section, questions: i === 0 ? questions : "", text: rest, excerpt: rest.replace(/ (?=[,.;:)])/g, "").replace(/\( /g, "(").slice(0, 160) });
  });
}
writeFileSync(join(folder, "search-index.js"), "self.sottoIndex=" + JSON.stringify(index) + "\n");
console.log(`${pages} pages, ${index.documentCount} sections`);
