// Reads replies with the middleware of this package and with extractReasoningMiddleware of the package
// `ai`, as streams: a list of replies on standard input; on standard output the texts, and how fast
// each is. SOTTO_NPM has the package `ai`.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { load, middleware } from "../../../js/dist/index.js";

const folder = process.env.SOTTO_NPM + "/node_modules/ai/dist/";
const { extractReasoningMiddleware, streamText, wrapLanguageModel } = await import(pathToFileURL(folder + "index.js"));
const { MockLanguageModelV4, convertArrayToReadableStream } = await import(pathToFileURL(folder + "test/index.js"));

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const reasons = { stopped: "stop", cut: "length" };

function model(modelId, deltas, end, wrap) {
  const chunks = [
    { type: "stream-start", warnings: [] },
    { type: "text-start", id: "0" },
    ...deltas.map((delta) => ({ type: "text-delta", id: "0", delta })),
    { type: "text-end", id: "0" },
    { type: "finish", finishReason: { unified: reasons[end], raw: end }, usage },
  ];
  return wrapLanguageModel({ model: new MockLanguageModelV4({ modelId, doStream: { stream: convertArrayToReadableStream(chunks) } }), middleware: wrap });
}

async function read({ model: name, deltas, end }, wrap) {
  let text = "";
  for await (const part of streamText({ model: model(name, deltas, end, wrap), prompt: "?", onError() {} }).fullStream) {
    if (part.type === "text-delta") text += part.text;
    if (part.type === "error") throw part.error;
  }
  return text;
}

/** speed is the MB of text that a second of the processor reads, without what streamText does. */
async function speed(wrap) {
  const raw = "<think>\n" + "Let me see, step by step. ".repeat(2000) + "\n</think>\n\n" + "The answer is forty-two. ".repeat(2000);
  const deltas = raw.match(/[^]{1,16}/g);
  let best = 0;
  for (let round = 0; round < 5; round++) {
    const { stream } = await model("qwen3:8b", deltas, "stopped", wrap).doStream({ prompt: [] });
    const from = process.cpuUsage();
    for await (const part of stream) if (part.type === "error") throw part.error;
    const used = process.cpuUsage(from);
    best = Math.max(best, raw.length / (used.user + used.system));
  }
  return best;
}

const from = process.cpuUsage();
const sotto = await load();
sotto.strip("<think>a</think>b");
const used = process.cpuUsage(from);
const ours = middleware(sotto), theirs = extractReasoningMiddleware({ tagName: "think" });
const texts = [];
for (const reply of JSON.parse(readFileSync(0, "utf8"))) texts.push(await read(reply, ours));
process.stdout.write(JSON.stringify({ texts, start: (used.user + used.system) / 1000, ours: await speed(ours), theirs: await speed(theirs), none: await speed([]) }));
