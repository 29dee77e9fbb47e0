import { CohereClientV2 } from 'cohere-ai';

async function chat(t) {
  const client = new CohereClientV2({ environment: t.base, token: t.key });
  const messages = [];
  const tools = t.offer((tool) => ({ type: 'function', function: tool }));
  for (const prompt of t.questions()) {
    messages.push({ role: 'user', content: prompt });
    for (let calls; calls !== 0;) {
      const message = await reply(t, client, { model: t.model, messages, tools });
      messages.push(message);
      for (const c of message.toolCalls ?? []) {
        messages.push({ role: 'tool', toolCallId: c.id, content: t.call(c.function.name, c.function.arguments) });
      }
      calls = message.toolCalls?.length ?? 0;
    }
  }
}

async function reply(t, client, request) {
  const options = { maxRetries: 0, abortSignal: t.signal };
  if (!t.stream) {
    const { message } = await client.chat(request, options);
    take(t, message.toolPlan, message.content ?? []);
    return message;
  }
  const message = { role: 'assistant' };
  for await (const e of await client.chatStream(request, options)) {
    const said = e.delta?.message;
    switch (e.type) {
      case 'content-start':
        (message.content ??= [])[e.index] = said.content;
        break;
      case 'content-delta':
        for (const [key, text] of Object.entries(said.content)) message.content[e.index][key] += text;
        take(t, null, [said.content]);
        break;
      case 'tool-plan-delta':
        message.toolPlan = (message.toolPlan ?? '') + said.toolPlan;
        take(t, said.toolPlan, []);
        break;
      case 'tool-call-start':
        (message.toolCalls ??= [])[e.index] = said.toolCalls;
        break;
      case 'tool-call-delta':
        message.toolCalls[e.index].function.arguments += said.toolCalls.function.arguments;
        break;
      case 'message-end':
        if (e.delta?.error) throw new Error(e.delta.error);
    }
  }
  return message;
}

function take(t, plan, parts) {
  t.think(plan);
  for (const part of parts) {
    t.think(part.thinking);
    t.say(part.text ?? '');
  }
}

export default [{ name: 'cohere-ai', package: 'cohere-ai', api: 'cohere.chat', talk: chat }];
