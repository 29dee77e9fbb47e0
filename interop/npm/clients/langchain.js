import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOllama } from '@langchain/ollama';
import { ChatOpenAI } from '@langchain/openai';

// The loop reads the standard blocks of a message, which every provider fills.
const speak = (open) => async function talk(t) {
  const tools = t.offer((tool) => ({ type: 'function', function: tool }));
  const model = tools ? open(t).bindTools(tools) : open(t);
  const messages = [];
  for (const prompt of t.questions()) {
    messages.push(new HumanMessage(prompt));
    for (let calls; calls !== 0;) {
      const message = t.stream ? await streamed(t, model, messages) : await model.invoke(messages);
      if (!t.stream) read(t, message);
      messages.push(message);
      for (const c of message.tool_calls ?? []) messages.push(new ToolMessage({ tool_call_id: c.id, content: t.call(c.name, c.args) }));
      calls = message.tool_calls?.length ?? 0;
    }
  }
};

async function streamed(t, model, messages) {
  let all;
  for await (const chunk of await model.stream(messages, { signal: t.signal })) {
    read(t, chunk);
    all = all ? all.concat(chunk) : chunk;
  }
  return all;
}

function read(t, message) {
  const blocks = message.contentBlocks;
  for (const block of blocks) if (block.type === 'reasoning') t.think(block.reasoning);
  if (!blocks.some((block) => block.type === 'reasoning')) t.think(message.additional_kwargs.reasoning_content);
  t.say(message.text);
}

const openai = (more) => speak((t) => new ChatOpenAI({
  model: t.model, apiKey: t.key, maxRetries: 0, configuration: { baseURL: `${t.base}/v1` }, ...more,
}));
const anthropic = speak((t) => new ChatAnthropic({
  model: t.model, apiKey: t.key, anthropicApiUrl: t.base, maxRetries: 0, maxTokens: 4000,
}));
const ollama = speak((t) => new ChatOllama({
  model: t.model, baseUrl: t.base, maxRetries: 0, headers: { Authorization: `Bearer ${t.key}` },
}));

export default [
  { name: '@langchain/openai, chat', package: '@langchain/openai', api: 'openai.chat', talk: openai() },
  { name: '@langchain/openai, responses', package: '@langchain/openai', api: 'openai.responses', field: 'summary', talk: openai({ useResponsesApi: true, reasoning: { summary: 'auto' } }) },
  { name: '@langchain/anthropic', package: '@langchain/anthropic', api: 'anthropic.messages', talk: anthropic },
  { name: '@langchain/ollama', package: '@langchain/ollama', api: 'ollama.chat', talk: ollama },
];
