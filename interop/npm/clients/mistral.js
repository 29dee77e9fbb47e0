import { Mistral } from '@mistralai/mistralai';

// The SDK keeps only the members that it knows, so a thought is a part of the content
// or is not there.
async function chat(t) {
  const client = new Mistral({ serverURL: t.base, apiKey: t.key, retryConfig: { strategy: 'none' } });
  const messages = [];
  const tools = t.offer((tool) => ({ type: 'function', function: tool }));
  for (const prompt of t.questions()) {
    messages.push({ role: 'user', content: prompt });
    for (let calls; calls !== 0;) {
      const message = await reply(t, client, { model: t.model, messages, tools });
      messages.push(message);
      for (const c of message.toolCalls ?? []) {
        messages.push({ role: 'tool', toolCallId: c.id, name: c.function.name, content: t.call(c.function.name, c.function.arguments) });
      }
      calls = message.toolCalls?.length ?? 0;
    }
  }
}

async function reply(t, client, request) {
  const options = { fetchOptions: { signal: t.signal } };
  if (!t.stream) {
    const { message } = (await client.chat.complete(request, options)).choices[0];
    take(t, message.content);
    return { ...message, toolCalls: message.toolCalls ?? undefined };
  }
  const message = { role: 'assistant', content: '' };
  for await (const { data } of await client.chat.stream(request, options)) {
    const delta = data.choices[0]?.delta ?? {};
    message.content += take(t, delta.content);
    // A call comes in pieces, as OpenAI's do.
    for (const c of delta.toolCalls ?? []) {
      message.toolCalls ??= [];
      const call = (message.toolCalls[c.index ?? 0] ??= { ...c, function: { name: c.function.name, arguments: '' } });
      call.function.arguments += c.function.arguments;
    }
  }
  return message;
}

// take reads content, and returns its text.
function take(t, content) {
  let text = '';
  for (const part of typeof content === 'string' ? [{ type: 'text', text: content }] : content ?? []) {
    if (part.type === 'thinking') t.think(part.thinking.map((p) => p.text).join(''));
    else text += part.text;
  }
  t.say(text);
  return text;
}

export default [{ name: '@mistralai/mistralai', package: '@mistralai/mistralai', api: 'openai.chat', reasoning: false, talk: chat }];
