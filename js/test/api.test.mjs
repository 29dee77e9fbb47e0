import assert from "node:assert/strict";
import { test } from "node:test";
import { forNextPrompt, load, Sotto, SottoError } from "../dist/index.js";
import { readFile } from "node:fs/promises";

const sotto = await load();
const full = await load({ ownDialects: true });
const history = await load({ history: true });

/** all reads a stream to its end. */
async function all(stream) {
  const list = [];
  for await (const part of stream) list.push(part);
  return list;
}
const streamOf = (...parts) => new ReadableStream({ start(c) { parts.forEach((p) => c.enqueue(p)); c.close(); } });

test("three lines", () => {
  const r = sotto.parse("<think>6 × 7</think>Forty-two.");
  assert.equal(r.visible, "Forty-two.");
  assert.deepEqual(r.reasoning, ["6 × 7"]);
  assert.equal(sotto.strip("I add.</think>Five."), "Five.");
});

test("by the name of the model", () => {
  const raw = "[THINK]Two and two.[/THINK]Four.";
  assert.equal(sotto.parse(raw).visible, raw);
  assert.equal(sotto.parse(raw, { model: "mistralai/Magistral-Small-2509" }).visible, "Four.");
  assert.equal(sotto.parse(raw, { model: "magistral:24b", start: "outside" }).dialect, sotto.parse("", { model: "magistral" }).dialect);
});

test("a stream gives nothing of a thought as text, at every cut", () => {
  const raw = "Well. <think>SECRET 🙂</think>Ünder 🙂 done.";
  for (let i = 0; i <= raw.length; i++)
    for (let j = i; j <= raw.length; j++) {
      const s = sotto.splitter();
      const deltas = [raw.slice(0, i), raw.slice(i, j), raw.slice(j)].flatMap((p) => s.feed(p)).concat(s.close("stopped"));
      const text = deltas.filter((d) => d.type === "text").map((d) => d.text).join("");
      const thought = deltas.filter((d) => d.type === "reasoning").map((d) => d.text).join("");
      assert.equal(text, "Well. Ünder 🙂 done.", `${i} ${j}`);
      assert.equal(thought, "SECRET 🙂", `${i} ${j}`);
      assert.deepEqual(deltas.at(-1), { type: "end", end: "stopped", diagnostics: [], moreDiagnostics: 0 });
    }
});

test("surrogates that stay alone, and bytes that are no UTF-8", () => {
  let s = sotto.splitter();
  let deltas = [...s.feed("a\ud83d"), ...s.feed(new Uint8Array([0x62])), ...s.feed("\ud83d"), ...s.close()];
  assert.equal(deltas.filter((d) => d.type === "text").map((d) => d.text).join(""), "a\ufffdb\ufffd");
  const bytes = new Uint8Array([0x3c, 0x74, 0x68, 0x69, 0x6e, 0x6b, 0x3e, 0xff, 0x3c, 0x2f, 0x74, 0x68, 0x69, 0x6e, 0x6b, 0x3e, 0xf0, 0x9f]);
  const r = sotto.parse(bytes);
  // JSON of Go has one sign for each byte of a broken sequence, the decoder of a stream one for all.
  assert.match(r.visible, /^\ufffd+$/);
  assert.deepEqual(r.reasoning, ["\ufffd"]);
  s = sotto.splitter();
  deltas = [...bytes].flatMap((b) => s.feed(new Uint8Array([b]))).concat(s.close());
  assert.equal(deltas.filter((d) => d.type === "text").map((d) => d.text).join(""), "\ufffd");
  assert.equal(sotto.parse("<think>x</think>\ufeffy").visible, "\ufeffy", "a byte order mark is text");
  assert.equal(sotto.splitter().feed("\ufeffy").map((d) => d.text).join(""), "\ufeffy");
});

test("places in UTF-16 units are those of the string", () => {
  const raw = "é🙂<think>日本🙂</think>\ud800x";
  const r = sotto.parse(raw);
  assert.equal(r.segments.map((s) => raw.slice(s.from, s.to)).join(""), raw);
  const thought = r.segments.find((s) => s.channel === "reasoning");
  assert.equal(raw.slice(thought.from, thought.to), "日本🙂");
});

test("TransformStreams", async () => {
  const parts = ["<th", "ink>a", "</think>", "b ", "c"];
  assert.deepEqual(await all(streamOf(...parts).pipeThrough(sotto.visible())), ["b ", "c"]);
  const deltas = await all(streamOf(...parts).pipeThrough(sotto.stream({ end: () => "stopped" })));
  assert.deepEqual(deltas.map((d) => d.type), ["reasoning", "reasoning-end", "text", "text", "end"]);
  assert.equal(deltas.at(-1).end, "stopped");
});

test("what is wrong is said", () => {
  for (const [run, says] of [
    [() => sotto.parse("x", { dialect: "qwn3" }), 'unknown dialect "qwn3": did you mean "qwen3"?'],
    [() => sotto.parse("x", { start: "middle" }), 'start "middle": want outside, auto, inside or inside:NAME'],
    [() => sotto.parse("x", { end: "done" }), 'unknown ending "done"'],
    [() => sotto.splitter({ inline: ["reasoning"] }), 'want "narration" or "tool"'],
    [() => sotto.splitter({ maxHold: 1.5 }), "no whole number"],
    [() => sotto.splitter({ model: 7 }), "want a string"],
    [() => sotto.parse("x", { dialect: { name: "x", markers: [{ role: "reasoning", open: ["["], close: ["]"] }] } }), "dialects of your own"],
    [() => full.parse("x", { dialect: { name: "x", markers: [{ role: "reasoning", open: ["["], close: ["["] }] } }), "an opener and a close must differ"],
    [() => full.parse("x", { dialect: { name: "x", markres: [] } }), "unknown key"],
    [() => { const s = sotto.splitter(); s.close(); s.feed("x"); }, "feed after close"],
    [() => { const s = sotto.splitter(); s.close(); s.close(); }, "close twice"],
  ])
    assert.throws(run, (err) => err.message.includes(says) || assert.fail(`${err.message}: want ${says}`));
});

test("a dialect of one's own", () => {
  const dialect = { name: "planner", title: "for people", markers: [{ role: "reasoning", open: ["[PLAN]"], close: ["[/PLAN]"] }] };
  assert.equal(full.parse("[PLAN]Six times seven.[/PLAN]Forty-two.", { dialect }).visible, "Forty-two.");
  const harmony = { name: "h", header: { begin: ["<|c|>"], body: ["<|m|>"], end: ["<|e|>"], name: ["<|c|>"], channels: { plan: "reasoning", "": "text" } } };
  assert.equal(full.parse("<|c|>plan<|m|>x<|e|><|c|><|m|>y", { dialect: harmony }).visible, "y");
});

test("streams are independent, and their memory is used again", () => {
  const open = Array.from({ length: 500 }, () => sotto.splitter());
  open.forEach((s, i) => s.feed(`<think>${i}`));
  open.forEach((s, i) => {
    const text = s.feed(`</think>${i}`).concat(s.close()).filter((d) => d.type === "text").map((d) => d.text).join("");
    assert.equal(text, String(i));
  });
  const memory = () => sotto.instance.exports.memory.buffer.byteLength;
  const run = (n) => { for (let i = 0; i < n; i++) { const s = sotto.splitter(); s.feed("<think>" + "x".repeat(3000)); if (i % 2) s.close(); else s.dispose(); } };
  run(2000);
  const before = memory();
  run(12000);
  // A collector that gets little of the processor lets the memory grow somewhat. Streams that stay are 100 MB.
  assert.ok(memory() < 3 * before, `the memory grew with closed streams, from ${before} to ${memory()} bytes`);
  sotto.parse("y".repeat(5e6));
  const large = memory();
  for (let i = 0; i < 20; i++) sotto.parse("y".repeat(5e6));
  assert.ok(memory() < 2 * large, `${memory()} bytes after replies of 5 MB, ${large} after one`);
});

test("a reader that fails is an exception, and the next call has a new one", async () => {
  const own = new Sotto(await WebAssembly.compile(await readFile(new URL("../dist/sotto.wasm", import.meta.url))));
  const lost = own.splitter();
  lost.feed("<think>a");
  // Something breaks the memory of the module.
  new Uint8Array(own.instance.exports.memory.buffer).fill(0xff);
  assert.throws(() => { for (let i = 0; i < 100; i++) { lost.feed("b".repeat(1000)); own.parse("c".repeat(1e5)); } }, SottoError);
  assert.equal(own.strip("<think>x</think>y"), "y");
  assert.throws(() => lost.feed("b"), SottoError);
});

test("what goes back with the next request", () => {
  const user = { role: "user", content: "a" }, said = { role: "assistant", content: "<think>b</think>c", reasoning: "b" };
  const next = forNextPrompt(sotto, [user, said, user], "qwen3:8b");
  assert.deepEqual(next, [user, { role: "assistant", content: "c" }, user]);
  assert.equal(next[0], user);
  assert.equal(said.reasoning, "b");
  // The turn under way keeps its reasoning, and a provider that demands a member gets one.
  const call = { role: "assistant", content: "", tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }] };
  const result = { role: "tool", tool_call_id: "1", content: "4" };
  assert.deepEqual(forNextPrompt(sotto, [user, said, result], "qwen3:8b")[1], said);
  assert.deepEqual(forNextPrompt(sotto, [user, call, result], "deepseek-v4")[1], { reasoning_content: "", ...call });
  const signed = { role: "assistant", content: [{ type: "thinking", thinking: "b", signature: "c2ln" }, { type: "text", text: "c" }] };
  assert.equal(forNextPrompt(sotto, [user, signed, user], "claude-sonnet-5", { api: "messages" })[1], signed);
  assert.throws(() => forNextPrompt(sotto, [], "x", { api: "nobody" }), /unknown API "nobody": want chat, responses/);
  assert.throws(() => forNextPrompt(sotto, [], "x", { api: "gemini" }), { name: "SottoError", message: /gemini needs the module of load/ });
  assert.throws(() => sotto.nextRequest({ model: "x", messages: [] }), { name: "SottoError", message: /history: true/ });
});

test("the requests of every API, as Go and Python read them", async () => {
  const member = { responses: "input", gemini: "contents" };
  const lines = (await readFile(new URL("../../testdata/nextrequest.jsonl", import.meta.url), "utf8")).trimEnd().split("\n");
  for (const { name, api, body, want } of lines.map((l) => JSON.parse(l))) {
    const request = JSON.parse(body), wanted = JSON.parse(want), key = member[api] ?? "messages";
    assert.equal(JSON.stringify(history.nextRequest(request, { api })), JSON.stringify(wanted), name);
    const model = request.model ?? request.modelId;
    const next = forNextPrompt(history, request[key], model, { api });
    assert.equal(JSON.stringify(next), JSON.stringify(wanted[key]), name);
    assert.equal(JSON.stringify(request), JSON.stringify(JSON.parse(body)), "the argument was changed");
    for (const m of next) if (request[key].some((r) => JSON.stringify(r) === JSON.stringify(m))) assert.ok(request[key].includes(m), "a message was copied that did not change");
    if (["chat", "messages", "ollama"].includes(api)) assert.deepEqual(forNextPrompt(sotto, request[key], model, { api }), next, name);
  }
  assert.throws(() => history.nextRequest({ model: "x" }, { api: "nobody" }), { name: "SottoError", message: /unknown API "nobody"/ });
  assert.throws(() => history.nextRequest([]), SottoError);
  assert.equal(history.parse("<think>a</think>b").visible, "b");
});
