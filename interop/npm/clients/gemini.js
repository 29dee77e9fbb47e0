import { GoogleGenAI } from '@google/genai';

// The SDK's chat keeps the history: the model's contents as they came.
async function chat(t) {
  const client = new GoogleGenAI({ apiKey: t.key, httpOptions: { baseUrl: t.base, retryOptions: { attempts: 1 } } });
  const functionDeclarations = t.offer(({ parameters, ...tool }) => ({ ...tool, parametersJsonSchema: parameters }));
  const tools = functionDeclarations && [{ functionDeclarations }];
  const conversation = client.chats.create({ model: t.model, config: { tools, abortSignal: t.signal } });
  for (const prompt of t.questions()) {
    for (let message = [{ text: prompt }]; message.length > 0;) {
      const calls = await reply(t, conversation, message);
      message = calls.map((c) => ({ functionResponse: { id: c.id, name: c.name, response: { output: t.call(c.name, c.args) } } }));
    }
  }
}

// reply returns the calls of a reply.
async function reply(t, conversation, message) {
  const answers = t.stream ? await conversation.sendMessageStream({ message }) : [await conversation.sendMessage({ message })];
  const calls = [];
  for await (const answer of answers) {
    for (const part of answer.candidates?.[0]?.content?.parts ?? []) {
      if (part.functionCall) calls.push(part.functionCall);
      else if (part.thought) t.think(part.text);
      else t.say(part.text ?? '');
    }
  }
  return calls;
}

export default [{ name: '@google/genai', package: '@google/genai', api: 'gemini.generate', talk: chat }];
