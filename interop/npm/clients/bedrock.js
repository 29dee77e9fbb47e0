import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime';

async function converse(t) {
  const client = new BedrockRuntimeClient({
    region: 'us-east-1', endpoint: t.base, maxAttempts: 1,
    token: { token: t.key }, authSchemePreference: ['httpBearerAuth'], // as with AWS_BEARER_TOKEN_BEDROCK
  });
  const messages = [];
  const tools = t.offer(({ parameters, ...tool }) => ({ toolSpec: { ...tool, inputSchema: { json: parameters } } }));
  for (const prompt of t.questions()) {
    for (let content = [{ text: prompt }]; content.length > 0;) {
      messages.push({ role: 'user', content });
      const message = await reply(t, client, { modelId: t.model, messages, toolConfig: tools && { tools } });
      messages.push(message);
      content = message.content.filter((b) => b.toolUse).map(({ toolUse: { toolUseId, name, input } }) => (
        { toolResult: { toolUseId, content: [{ text: t.call(name, input) }] } }
      ));
    }
  }
  client.destroy();
}

async function reply(t, client, request) {
  const options = { abortSignal: t.signal };
  if (!t.stream) {
    const { output: { message } } = await client.send(new ConverseCommand(request), options);
    for (const block of message.content) take(t, block.text, block.reasoningContent?.reasoningText?.text);
    return message;
  }
  const content = [];
  const inputs = {};
  let stopped = false;
  for await (const e of (await client.send(new ConverseStreamCommand(request), options)).stream) {
    const { contentBlockIndex: i, start, delta } = e.contentBlockStart ?? e.contentBlockDelta ?? e.contentBlockStop ?? {};
    if (start?.toolUse) content[i] = { toolUse: start.toolUse };
    else if (delta) join(t, content, inputs, i, delta);
    else if (e.contentBlockStop && content[i].toolUse) content[i].toolUse.input = JSON.parse(inputs[i]);
    stopped ||= Boolean(e.messageStop);
  }
  if (!stopped) throw new Error('the stream has no end');
  return { role: 'assistant', content };
}

// join adds a piece to its block.
function join(t, content, inputs, i, { text, toolUse, reasoningContent: thought }) {
  take(t, text, thought?.text);
  if (text !== undefined) (content[i] ??= { text: '' }).text += text;
  if (toolUse) inputs[i] = (inputs[i] ?? '') + toolUse.input;
  if (thought?.redactedContent) content[i] = { reasoningContent: thought };
  else if (thought) {
    const { reasoningText } = (content[i] ??= { reasoningContent: { reasoningText: { text: '' } } }).reasoningContent;
    reasoningText.text += thought.text ?? '';
    if (thought.signature) reasoningText.signature = (reasoningText.signature ?? '') + thought.signature;
  }
}

function take(t, text, thought) {
  t.say(text ?? '');
  t.think(thought);
}

export default [{ name: '@aws-sdk/client-bedrock-runtime', package: '@aws-sdk/client-bedrock-runtime', api: 'bedrock.converse', talk: converse }];
