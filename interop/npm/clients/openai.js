import OpenAI from 'openai';

const open = (t) => new OpenAI({ baseURL: `${t.base}/v1`, apiKey: t.key, maxRetries: 0 });

// Programs read reasoning_content beside the content, and append the message as it came.
async function chat(t) {
  const messages = [];
  const tools = t.offer((tool) => ({ type: 'function', function: tool }));
  for (const prompt of t.questions()) {
    messages.push({ role: 'user', content: prompt });
    for (let calls; calls !== 0;) {
      const message = await reply(t, { model: t.model, messages, tools });
      messages.push(message);
      for (const c of message.tool_calls ?? []) {
        messages.push({ role: 'tool', tool_call_id: c.id, content: t.call(c.function.name, c.function.arguments) });
      }
      calls = message.tool_calls?.length ?? 0;
    }
  }
}

async function reply(t, request) {
  const { completions } = open(t).chat;
  if (!t.stream) {
    const { message } = (await completions.create(request)).choices[0];
    t.think(message.reasoning_content);
    t.say(message.content ?? '');
    return message;
  }
  const stream = completions.stream(request, { signal: t.signal });
  for await (const chunk of stream) {
    t.think(chunk.choices[0]?.delta.reasoning_content);
    t.say(chunk.choices[0]?.delta.content ?? '');
  }
  return stream.finalMessage();
}

async function completions(t) {
  for (const prompt of t.questions()) {
    const request = { model: t.model, prompt, stream: t.stream };
    const answer = await open(t).completions.create(request, { signal: t.signal });
    for await (const part of t.stream ? answer : [answer]) {
      for (const choice of part.choices) {
        t.think(choice.reasoning_content);
        t.say(choice.text);
      }
    }
  }
}

async function responses(t) {
  const input = [];
  const tools = t.offer((tool) => ({ type: 'function', strict: true, ...tool }));
  for (const prompt of t.questions()) {
    input.push({ role: 'user', content: prompt });
    for (let calls; calls !== 0;) {
      const output = await items(t, { model: t.model, input, tools, store: false, reasoning: { summary: 'auto' } });
      input.push(...output);
      const asked = output.filter((item) => item.type === 'function_call');
      for (const c of asked) input.push({ type: 'function_call_output', call_id: c.call_id, output: t.call(c.name, c.arguments) });
      calls = asked.length;
    }
  }
}

async function items(t, request) {
  if (!t.stream) {
    const { output, output_text } = await open(t).responses.create(request);
    for (const item of output.filter((i) => i.type === 'reasoning')) {
      for (const part of [...item.summary, ...(item.content ?? [])]) t.think(part.text);
    }
    t.say(output_text);
    return output;
  }
  const stream = open(t).responses.stream(request, { signal: t.signal });
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') t.say(event.delta);
    if (/^response\.reasoning(_summary)?_text\.delta$/.test(event.type)) t.think(event.delta);
    if (event.type === 'error' || event.type === 'response.failed') throw new Error(JSON.stringify(event));
  }
  return (await stream.finalResponse()).output;
}

export default [
  { name: 'openai, chat', package: 'openai', api: 'openai.chat', talk: chat },
  { name: 'openai, completions', package: 'openai', api: 'openai.completions', talk: completions },
  { name: 'openai, responses', package: 'openai', api: 'openai.responses', talk: responses },
];
