import { Ollama } from 'ollama';

const open = (t) => new Ollama({ host: t.base, headers: { Authorization: `Bearer ${t.key}` } });

// abortable ends a stream the way the README says.
function abortable(t, answer) {
  if (!t.stream) return [answer];
  t.signal.addEventListener('abort', () => answer.abort());
  return answer;
}

async function chat(t) {
  const messages = [];
  const tools = t.offer((tool) => ({ type: 'function', function: tool }));
  for (const prompt of t.questions()) {
    messages.push({ role: 'user', content: prompt });
    for (let calls; calls?.length !== 0;) {
      const message = { role: 'assistant', content: '', thinking: '', tool_calls: [] };
      for await (const part of abortable(t, await open(t).chat({ model: t.model, messages, tools, stream: t.stream }))) {
        t.think(part.message.thinking);
        t.say(part.message.content);
        message.thinking += part.message.thinking ?? '';
        message.content += part.message.content;
        message.tool_calls.push(...(part.message.tool_calls ?? []));
      }
      messages.push(message);
      calls = message.tool_calls;
      for (const { function: f } of calls) messages.push({ role: 'tool', tool_name: f.name, content: t.call(f.name, f.arguments) });
    }
  }
}

async function generate(t) {
  for (const prompt of t.questions()) {
    for await (const part of abortable(t, await open(t).generate({ model: t.model, prompt, stream: t.stream }))) {
      t.think(part.thinking);
      t.say(part.response);
    }
  }
}

export default [
  { name: 'ollama, chat', package: 'ollama', api: 'ollama.chat', talk: chat },
  { name: 'ollama, generate', package: 'ollama', api: 'ollama.generate', talk: generate },
];
