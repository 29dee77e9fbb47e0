import { ChatAnthropic } from '@langchain/anthropic';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatDeepSeek } from '@langchain/deepseek';
import { ChatGoogle } from '@langchain/google';
import { ChatOllama } from '@langchain/ollama';
import { ChatOpenAI } from '@langchain/openai';
import { ChatOpenRouter } from '@langchain/openrouter';
import { ChatXAI } from '@langchain/xai';

// The loop reads the standard blocks of a message, which every provider fills.
export const speak = (open) => async function talk(t) {
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

// compatible are the classes for servers of OpenAI's APIs. Some take the address among the
// settings of the SDK that they use, some as their own.
const compatible = (Model, more) => speak((t) => new Model({
  model: t.model, apiKey: t.key, maxRetries: 0, baseURL: `${t.base}/v1`, configuration: { baseURL: `${t.base}/v1` }, ...more,
}));
const anthropic = speak((t) => new ChatAnthropic({
  model: t.model, apiKey: t.key, anthropicApiUrl: t.base, maxRetries: 0, maxTokens: 4000,
}));
const google = speak((t) => new ChatGoogle({ model: t.model, apiKey: t.key, endpoint: t.base, maxRetries: 0 }));
const ollama = speak((t) => new ChatOllama({
  model: t.model, baseUrl: t.base, maxRetries: 0, headers: { Authorization: `Bearer ${t.key}` },
}));

export default [
  { name: '@langchain/openai, chat', package: '@langchain/openai', api: 'openai.chat', talk: compatible(ChatOpenAI) },
  { name: '@langchain/openai, responses', package: '@langchain/openai', api: 'openai.responses', field: 'summary', talk: compatible(ChatOpenAI, { useResponsesApi: true, reasoning: { summary: 'auto' } }) },
  { name: '@langchain/anthropic', package: '@langchain/anthropic', api: 'anthropic.messages', talk: anthropic },
  { name: '@langchain/deepseek', package: '@langchain/deepseek', api: 'openai.chat', parses: true, talk: compatible(ChatDeepSeek) },
  { name: '@langchain/google', package: '@langchain/google', api: 'gemini.generate', talk: google },
  { name: '@langchain/ollama', package: '@langchain/ollama', api: 'ollama.chat', talk: ollama },
  { name: '@langchain/openrouter', package: '@langchain/openrouter', api: 'openai.chat', talk: compatible(ChatOpenRouter) },
  { name: '@langchain/xai', package: '@langchain/xai', api: 'openai.chat', talk: compatible(ChatXAI) },
];
