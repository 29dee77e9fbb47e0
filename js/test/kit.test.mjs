// The kit in Node.js. SOTTO_EFFORT=2 takes every cut of long replies, too.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { load } from "../dist/index.js";
import { Kit } from "../kit/kit.mjs";

const text = (name) => readFileSync(new URL("../../testdata/" + name, import.meta.url), "utf8");
const files = { replies: text("conformance.jsonl"), wanted: text("conformance.want.jsonl"), dialects: text("conformance.dialects.json") };
const sotto = await load({ ownDialects: true });

for (const [name, run] of [
  ["whole replies", (kit) => kit.whole()],
  ["at every cut", (kit) => kit.cuts({ all: Number(process.env.SOTTO_EFFORT ?? 1) > 1 })],
]) {
  test(name, () => {
    const kit = new Kit(sotto, files);
    run(kit);
    assert.ok(kit.readings >= kit.replies.length, `${kit.readings} readings`);
    assert.deepEqual(kit.faults.slice(0, 5), []);
    console.log(`${kit.readings} readings`);
  });
}
