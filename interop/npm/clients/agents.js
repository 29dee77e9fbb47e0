import { Agent, OpenAIProvider, Runner, tool } from '@openai/agents';

const speak = (useResponses) => async function talk(t) {
  const modelProvider = new OpenAIProvider({ baseURL: `${t.base}/v1`, apiKey: t.key, useResponses });
  const runner = new Runner({ modelProvider, tracingDisabled: true });
  const agent = new Agent({
    name: 'Weather', instructions: 'Answer briefly.', model: t.model,
    modelSettings: { store: false, retry: { maxRetries: 0 }, ...(useResponses && { reasoning: { summary: 'auto' } }) },
    tools: t.offer((w) => tool({ ...w, strict: true, execute: (input) => t.call(w.name, input) })) ?? [],
  });
  let history = [];
  for (const prompt of t.questions()) {
    history.push({ role: 'user', content: prompt });
    const run = await runner.run(agent, history, { stream: t.stream, signal: t.signal });
    if (t.stream) {
      for await (const event of run) if (event.data?.type === 'output_text_delta') t.say(event.data.delta);
      await run.completed;
      if (run.error) throw run.error;
    }
    for (const item of run.newItems) {
      if (item.type === 'reasoning_item_created' || item.type === 'reasoning_item') {
        for (const part of [...item.rawItem.content, ...(item.rawItem.rawContent ?? [])]) t.think(part.text);
      }
      if (!t.stream && item.type === 'message_output_item') t.say(item.content);
    }
    history = run.history;
  }
};

export default [
  { name: '@openai/agents, chat', package: '@openai/agents', api: 'openai.chat', talk: speak(false), field: 'reasoning', repeats: true },
  { name: '@openai/agents, responses', package: '@openai/agents', api: 'openai.responses', talk: speak(true), repeats: true },
];
