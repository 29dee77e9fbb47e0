// Streams of servers, and the packages that read them: openai, ollama and ai. SOTTO_NPM names the
// folder where they are installed.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { load, middleware, read, wrapFetch } from "../dist/index.js";

const sotto = await load();
const npm = createRequire(process.env.SOTTO_NPM ? process.env.SOTTO_NPM + "/" : import.meta.url);
const skip = process.env.SOTTO_NPM ? false : "SOTTO_NPM is not set";
const installed = async (name) => import(pathToFileURL(npm.resolve(name)));

const reply = ["<thi", "nk>6 × 7", " 😀</thi", "nk>\n\nForty", "-two <"];
const sse = (f) => `data: ${JSON.stringify(f)}\n\n`;
const chat = (delta, finish_reason = null, index = 0) => ({ id: "x", object: "chat.completion.chunk", created: 1, model: "qwen3:8b", choices: [{ index, delta, finish_reason }] });

/** Streams of one reply, in every API. */
const streams = {
  "chat completions": reply.map((content) => sse(chat({ content }))).join("") + sse(chat({}, "stop")) + "data: [DONE]\n\n",
  "chat completions with CRLF, comments and names": ": hi\r\n\r\n" + reply.map((content) => "event: chunk\r\n" + sse(chat({ content })).replaceAll("\n", "\r\n")).join("") + sse(chat({}, "stop")),
  completions: reply.map((text) => sse({ choices: [{ index: 0, text, finish_reason: null }] })).join("") + sse({ choices: [{ index: 0, text: "", finish_reason: "stop" }] }),
  ollama: reply.map((content) => JSON.stringify({ model: "qwen3:8b", message: { role: "assistant", content }, done: false }) + "\n").join("") +
    JSON.stringify({ model: "qwen3:8b", message: { role: "assistant", content: "" }, done: true, done_reason: "stop" }) + "\n",
  messages: reply.map((text) => "event: content_block_delta\n" + sse({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })).join("") +
    sse({ type: "message_delta", delta: { stop_reason: "end_turn" } }),
  responses: reply.map((delta) => sse({ type: "response.output_text.delta", delta })).join("") + sse({ type: "response.completed" }),
  gemini: reply.map((text) => sse({ candidates: [{ content: { parts: [{ text }] } }] })).join("") + sse({ candidates: [{ finishReason: "STOP" }] }),
};

async function readAll(stream, size) {
  const bytes = new TextEncoder().encode(stream);
  const chunks = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
  const out = [];
  for await (const d of ReadableStream.from(chunks).pipeThrough(read(sotto, { model: "qwen3:8b" }))) out.push(d);
  return out;
}

const textOf = (deltas, type) => deltas.filter((d) => d.type === type).map((d) => d.text).join("");

for (const [name, stream] of Object.entries(streams)) {
  test(`read ${name}`, async () => {
    for (const size of [1, 2, 3, 7, 64, 1 << 20]) {
      const deltas = await readAll(stream, size);
      assert.equal(textOf(deltas, "text"), "Forty-two <", `${size}`);
      assert.equal(textOf(deltas, "reasoning"), "6 × 7 😀");
      assert.equal(deltas.at(-1).end, "stopped");
    }
  });
}

test("reasoning that the server has separated", async () => {
  const deltas = await readAll(sse(chat({ reasoning_content: "a" })) + sse(chat({ reasoning: "b" })) + sse(chat({ content: "c" }, "length")), 5);
  assert.deepEqual(deltas.slice(0, 4), [
    { type: "reasoning", block: 0, text: "a" }, { type: "reasoning", block: 0, text: "b" },
    { type: "reasoning-end", block: 0, closed: true }, { type: "text", text: "c" },
  ]);
  assert.equal(deltas.at(-1).end, "cut");
});

test("a long frame in small pieces, and ends of lines between pieces", async () => {
  const long = "word ".repeat(40_000) + "end";
  const stream = sse(chat({ content: "<think>a</think>" + long })) + sse(chat({}, "stop"));
  for (const text of [stream, stream.replaceAll("\n", "\r\n"), stream.replaceAll("\n", "\r")]) {
    assert.equal(textOf(await readAll(text, 17), "text"), long);
  }
});

test("hostile streams", async () => {
  await assert.rejects(readAll("data: {\n\n", 3), /no JSON/);
  const parts = sse(chat({ content: [{ type: "text", text: "<think>a" }] }));
  await assert.rejects(readAll(parts, 9), /list of parts/);
  await serving(parts, "text/event-stream", async (url) => {
    await assert.rejects((await wrapFetch(sotto)(url, { method: "POST", body: "{}" })).text(), /list of parts/);
  });
  await assert.rejects(readAll("data: " + "x".repeat(17 << 20), 1 << 20), /longer than/);
  await assert.rejects(readAll(sse(chat({ content: "a" }, null, 1)), 9), /more than one choice/);
});

/** A server of what a request path names, at one place for each test. */
async function serving(body, type, run) {
  const server = createServer(async (request, response) => {
    for await (const _ of request);
    response.writeHead(200, { "content-type": type });
    const bytes = Buffer.from(body);
    for (let at = 0; at < bytes.length; at += 11) {
      response.write(bytes.subarray(at, at + 11));
      if (at % 5 === 0) await new Promise((done) => setImmediate(done));
    }
    response.end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  try {
    return await run(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test("the openai package over wrapFetch", { skip }, async () => {
  const { default: OpenAI } = await installed("openai");
  const client = (url) => new OpenAI({ baseURL: url, apiKey: "x", fetch: wrapFetch(sotto), maxRetries: 0 });
  const request = { model: "qwen3:8b", messages: [{ role: "user", content: "6 × 7?" }] };
  const two = [0, 1].flatMap((i) => reply.map((content) => sse(chat({ content }, null, i)))).sort(() => 0).join("") + sse(chat({}, "stop", 1)) + sse(chat({}, "stop", 0)) + "data: [DONE]\n\n";
  await serving(two, "text/event-stream", async (url) => {
    const got = ["", ""], thoughts = ["", ""];
    for await (const c of await client(url).chat.completions.create({ ...request, stream: true, n: 2 })) {
      for (const { index, delta } of c.choices) {
        got[index] += delta.content ?? "";
        thoughts[index] += delta.reasoning_content ?? "";
      }
    }
    assert.deepEqual([got, thoughts], [["Forty-two <", "Forty-two <"], ["6 × 7 😀", "6 × 7 😀"]]);
  });
  const noEnd = reply.map((content) => sse(chat({ content }))).join("");
  await serving(noEnd, "text/event-stream; charset=utf-8", async (url) => {
    let got = "";
    for await (const c of await client(url).chat.completions.create({ ...request, stream: true })) got += c.choices[0].delta.content ?? "";
    assert.equal(got, "Forty-two <");
  });
  const whole = JSON.stringify({ ...chat({}), choices: [{ index: 0, message: { role: "assistant", content: reply.join("") }, finish_reason: "stop" }] });
  await serving(whole, "application/json", async (url) => {
    const c = await client(url).chat.completions.create(request);
    assert.equal(c.choices[0].message.content, "Forty-two <");
    assert.equal(c.choices[0].message.reasoning_content, "6 × 7 😀");
  });
  const after = sse(chat({ content: "<think>a" })) + sse(chat({}, "stop")) + sse(chat({ content: "the thought goes on" }));
  await serving(after, "text/event-stream", async (url) => {
    let got = "";
    await assert.rejects(async () => {
      for await (const c of await client(url).chat.completions.create({ ...request, stream: true })) got += c.choices[0].delta.content ?? "";
    }, /after its end/);
    assert.equal(got, "");
  });
  await serving(streams.messages, "text/event-stream", async (url) => {
    const response = await wrapFetch(sotto)(url, { method: "POST", body: "{}" });
    await assert.rejects(response.text(), /use the gateway/);
  });
});

test("the ollama package over wrapFetch", { skip }, async () => {
  const { Ollama } = await installed("ollama");
  await serving(streams.ollama, "application/x-ndjson", async (host) => {
    let got = "", thoughts = "";
    const client = new Ollama({ host, fetch: wrapFetch(sotto) });
    for await (const p of await client.chat({ model: "qwen3:8b", messages: [{ role: "user", content: "6 × 7?" }], stream: true })) {
      got += p.message.content;
      thoughts += p.message.thinking ?? "";
    }
    assert.deepEqual([got, thoughts], ["Forty-two <", "6 × 7 😀"]);
  });
});

test("the ai package with the middleware", { skip }, async () => {
  const { generateText, streamText, wrapLanguageModel } = await installed("ai");
  const { createOpenAICompatible } = await installed("@ai-sdk/openai-compatible");
  const model = (url) => wrapLanguageModel({ model: createOpenAICompatible({ name: "local", baseURL: url })("qwen3:8b"), middleware: middleware(sotto) });
  await serving(streams["chat completions"], "text/event-stream", async (url) => {
    const result = streamText({ model: model(url), prompt: "6 × 7?" });
    let text = "", thought = "";
    for await (const part of result.fullStream ?? result.stream) {
      if (part.type === "text-delta") text += part.text ?? part.delta;
      if (part.type === "reasoning-delta") thought += part.text ?? part.delta;
      assert.notEqual(part.type, "error");
    }
    assert.deepEqual([text, thought, await result.text, await result.finishReason], ["Forty-two <", "6 × 7 😀", "Forty-two <", "stop"]);
  });
  const whole = JSON.stringify({ ...chat({}), choices: [{ index: 0, message: { role: "assistant", content: reply.join("") }, finish_reason: "stop" }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
  await serving(whole, "application/json", async (url) => {
    const result = await generateText({ model: model(url), prompt: "6 × 7?" });
    assert.deepEqual([result.text, result.reasoningText], ["Forty-two <", "6 × 7 😀"]);
  });
});

test("the middleware between texts and calls", async () => {
  const parts = [
    { type: "stream-start", warnings: [] }, { type: "text-start", id: "1" }, { type: "text-delta", id: "1", delta: "<think>a</think>b" }, { type: "text-end", id: "1" },
    { type: "tool-call", toolName: "f" }, { type: "text-start", id: "2" }, { type: "text-delta", id: "2", delta: "c<think>d" }, { type: "text-end", id: "2" }, { type: "finish", finishReason: { unified: "length" } },
  ];
  const m = middleware(sotto);
  const call = { params: {}, model: { modelId: "qwen3:8b" }, doStream: async () => ({ stream: ReadableStream.from(parts) }) };
  const got = [];
  for await (const p of (await m.wrapStream(call)).stream) got.push(p.delta === undefined ? p.type : `${p.type} ${p.delta}`);
  assert.deepEqual(got, ["stream-start", "reasoning-start", "reasoning-delta a", "reasoning-end", "text-start", "text-delta b", "text-end", "tool-call",
    "text-start", "text-delta c", "text-end", "reasoning-start", "reasoning-delta d", "reasoning-end", "finish"]);
  const content = [{ type: "text", text: "<think>a</think>b", citations: [1] }, { type: "tool-call", toolName: "f" }, { type: "text", text: "c" }];
  const result = await m.wrapGenerate({ ...call, doGenerate: async () => ({ content, finishReason: "stop" }) });
  assert.deepEqual(result.content.map((c) => [c.type, c.text]), [["reasoning", "a"], ["text", "b"], ["tool-call", undefined], ["text", "c"]]);
});
