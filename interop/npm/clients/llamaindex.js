import { Ollama } from '@llamaindex/ollama';
import { OpenAI } from '@llamaindex/openai';
import { tool } from 'llamaindex';

// The loop is that of the SDK's own agent.
const speak = (open) => async function talk(t) {
  const llm = open(t);
  const messages = [];
  const tools = t.offer((w) => tool({ ...w, execute: (input) => t.call(w.name, input) }));
  for (const prompt of t.questions()) {
    messages.push({ role: 'user', content: prompt });
    for (let calls; calls?.size !== 0;) {
      let content = '';
      calls = new Map();
      for await (const { delta, options } of await parts(llm, { messages, tools, stream: t.stream })) {
        t.say(delta);
        content += delta;
        for (const c of options?.toolCall ?? []) calls.set(c.id, c);
      }
      messages.push({ role: 'assistant', content, ...(calls.size && { options: { toolCall: [...calls.values()] } }) });
      for (const { id, name, input } of calls.values()) {
        messages.push({ role: 'user', content: '', options: { toolResult: { id, result: t.call(name, input), isError: false } } });
      }
    }
  }
};

async function parts(llm, request) {
  if (request.stream) return llm.chat(request);
  const { message } = await llm.chat(request);
  return [{ delta: message.content, options: message.options }];
}

const openai = speak((t) => new OpenAI({ model: t.model, apiKey: t.key, baseURL: `${t.base}/v1`, maxRetries: 0 }));
const ollama = speak((t) => new Ollama({ model: t.model, config: { host: t.base, headers: { Authorization: `Bearer ${t.key}` } } }));

// Neither passes reasoning on.
export default [
  { name: 'llamaindex, openai', package: '@llamaindex/openai', api: 'openai.chat', talk: openai, reasoning: false },
  { name: 'llamaindex, ollama', package: '@llamaindex/ollama', api: 'ollama.chat', talk: ollama, reasoning: false },
];
