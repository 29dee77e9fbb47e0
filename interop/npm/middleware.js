// Reads replies with extractReasoningMiddleware of the package ai, each as a stream:
// a JSON array of arrays of deltas on standard input, an object a reply and a
// setting on standard output. alternatives_test.go judges.
import { readFileSync } from 'node:fs';
import { extractReasoningMiddleware, streamText, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4, convertArrayToReadableStream } from 'ai/test';

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };

async function read(deltas, startWithReasoning) {
  const chunks = [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: '0' },
    ...deltas.map((delta) => ({ type: 'text-delta', id: '0', delta })),
    { type: 'text-end', id: '0' },
    { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
  ];
  const model = wrapLanguageModel({
    model: new MockLanguageModelV4({ doStream: { stream: convertArrayToReadableStream(chunks) } }),
    middleware: extractReasoningMiddleware({ tagName: 'think', startWithReasoning }),
  });
  let text = '';
  let reasoning = '';
  for await (const part of streamText({ model, prompt: '?', onError() {} }).fullStream) {
    if (part.type === 'text-delta') text += part.text;
    if (part.type === 'reasoning-delta') reasoning += part.text;
    if (part.type === 'error') throw part.error;
  }
  return { text, reasoning };
}

const out = [];
for (const deltas of JSON.parse(readFileSync(0, 'utf8'))) {
  out.push({ plain: await read(deltas, false), inside: await read(deltas, true) });
}
process.stdout.write(JSON.stringify(out));
