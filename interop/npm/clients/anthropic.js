import Anthropic from '@anthropic-ai/sdk';

async function messages(t) {
  const client = new Anthropic({ baseURL: t.base, apiKey: t.key, maxRetries: 0 });
  const history = [];
  const tools = t.offer(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters }));
  for (const prompt of t.questions()) {
    history.push({ role: 'user', content: prompt });
    for (let uses; uses !== 0;) {
      const content = await reply(t, client, { model: t.model, max_tokens: 4000, messages: history, tools });
      history.push({ role: 'assistant', content });
      const asked = content.filter((block) => block.type === 'tool_use');
      uses = asked.length;
      if (uses) {
        history.push({
          role: 'user',
          content: asked.map((u) => ({ type: 'tool_result', tool_use_id: u.id, content: t.call(u.name, u.input) })),
        });
      }
    }
  }
}

async function reply(t, client, request) {
  if (t.stream) {
    const stream = client.messages.stream(request, { signal: t.signal });
    stream.on('text', (text) => t.say(text)).on('thinking', (text) => t.think(text));
    return (await stream.finalMessage()).content;
  }
  const { content } = await client.messages.create(request);
  for (const block of content) {
    if (block.type === 'thinking') t.think(block.thinking);
    if (block.type === 'text') t.say(block.text);
  }
  return content;
}

export default [{ name: '@anthropic-ai/sdk', package: '@anthropic-ai/sdk', api: 'anthropic.messages', talk: messages }];
