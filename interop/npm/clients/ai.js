import * as ai7 from 'ai';
import * as ai6 from 'ai6';
import { createCohere } from '@ai-sdk/cohere';
import { createDeepSeek } from '@ai-sdk/deepseek';
import { createGroq } from '@ai-sdk/groq';
import { createMistral } from '@ai-sdk/mistral';
import { createXai } from '@ai-sdk/xai';
import * as anthropic7 from '@ai-sdk/anthropic';
import * as anthropic6 from 'ai6-anthropic';
import * as openai7 from '@ai-sdk/openai';
import * as openai6 from 'ai6-openai';
import * as compatible7 from '@ai-sdk/openai-compatible';
import * as compatible6 from 'ai6-openai-compatible';
import * as openrouter7 from '@openrouter/ai-sdk-provider';
import * as openrouter6 from 'ai6-openrouter';
import * as ollama7 from 'ollama-ai-provider-v2';
import * as ollama6 from 'ai6-ollama';

globalThis.AI_SDK_LOG_WARNINGS = false;

// speak returns the loop of programs that use this SDK.
export const speak = (ai, model, providerOptions) => async function talk(t) {
  const messages = [];
  const [tool] = t.offer((w) => ai.tool({
    description: w.description,
    inputSchema: ai.jsonSchema(w.parameters),
    execute: (input) => t.call(w.name, input),
  })) ?? [];
  const tools = tool && { get_weather: tool };
  for (const prompt of t.questions()) {
    messages.push({ role: 'user', content: prompt });
    const request = { model: model(t), messages, tools, stopWhen: ai.stepCountIs(5), maxRetries: 0, abortSignal: t.signal, providerOptions };
    if (t.stream) {
      const answer = ai.streamText({ ...request, onError() {} });
      for await (const part of answer.fullStream) {
        if (part.type === 'text-delta') t.say(part.text);
        if (part.type === 'reasoning-delta') t.think(part.text);
        if (part.type === 'error') throw part.error;
        if (part.type === 'abort') throw new Error('aborted');
      }
      messages.push(...(await (answer.responseMessages ?? answer.response.then((r) => r.messages))));
    } else {
      const answer = await ai.generateText(request);
      for (const step of answer.steps) {
        t.think(step.reasoningText);
        t.say(step.text);
      }
      messages.push(...(answer.responseMessages ?? answer.response.messages));
    }
  }
};

const at = (t, path) => ({ baseURL: t.base + path, apiKey: t.key });

// Each version has the providers under its own names of packages.
function version(n, ai, packages, { openai, anthropic, compatible, openrouter, ollama }) {
  const summary = { openai: { reasoningSummary: 'auto', forceReasoning: true, store: false } };
  const entry = (name, api, model, more = {}) => ({
    name: `ai ${n}, ${name}`, package: packages[more.from ?? name], with: packages.ai, api, talk: speak(ai, model, more.options), ...more.says,
  });
  return [
    entry('openai', 'openai.chat', (t) => openai.createOpenAI(at(t, '/v1')).chat(t.model), { says: { reasoning: false } }),
    entry('openai responses', 'openai.responses', (t) => openai.createOpenAI(at(t, '/v1'))(t.model), { from: 'openai', options: summary }),
    entry('anthropic', 'anthropic.messages', (t) => anthropic.createAnthropic(at(t, '/v1'))(t.model)),
    entry('openai-compatible', 'openai.chat', (t) => compatible.createOpenAICompatible({ name: 'sotto', ...at(t, '/v1') })(t.model)),
    entry('openrouter', 'openai.chat', (t) => openrouter.createOpenRouter(at(t, '/v1'))(t.model), { says: { field: 'reasoning', leading: true } }),
    entry('ollama', 'ollama.chat', (t) => ollama.createOllama({ baseURL: `${t.base}/api`, headers: { Authorization: `Bearer ${t.key}` } })(t.model), { options: { ollama: { think: true } } }),
  ];
}

// only7 is a provider that is tested with the newest version alone.
const only7 = (name, api, model, says) => (
  { name: `ai 7, ${name}`, package: `@ai-sdk/${name}`, with: 'ai', api, talk: speak(ai7, (t) => model(t)(t.model)), ...says }
);

export default [
  ...version(6, ai6, {
    ai: 'ai6', openai: 'ai6-openai', anthropic: 'ai6-anthropic', 'openai-compatible': 'ai6-openai-compatible', openrouter: 'ai6-openrouter', ollama: 'ai6-ollama',
  }, {
    openai: openai6, anthropic: anthropic6, compatible: compatible6, openrouter: openrouter6, ollama: ollama6,
  }),
  ...version(7, ai7, {
    ai: 'ai', openai: '@ai-sdk/openai', anthropic: '@ai-sdk/anthropic', 'openai-compatible': '@ai-sdk/openai-compatible',
    openrouter: '@openrouter/ai-sdk-provider', ollama: 'ollama-ai-provider-v2',
  }, {
    openai: openai7, anthropic: anthropic7, compatible: compatible7, openrouter: openrouter7, ollama: ollama7,
  }),
  only7('cohere', 'cohere.chat', (t) => createCohere(at(t, '/v2')), { bare: true }),
  only7('deepseek', 'openai.chat', (t) => createDeepSeek(at(t, '/v1'))),
  only7('groq', 'openai.chat', (t) => createGroq(at(t, '/v1')), { field: 'reasoning' }),
  only7('mistral', 'openai.chat', (t) => createMistral(at(t, '/v1')), { reasoning: false }),
  only7('xai', 'openai.responses', (t) => createXai(at(t, '/v1'))),
];
