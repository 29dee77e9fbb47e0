// Asks a gateway for what only one provider's SDK knows, and prints what each SDK
// read, a JSON object a line. Arguments: the address of a gateway, and the name of an
// SDK.
import { GoogleGenAI } from '@google/genai'
import { Mistral } from '@mistralai/mistralai'

const [base, sdk] = process.argv.slice(2)
const print = (name, read) => console.log(JSON.stringify({ name, ...read }))

const sdks = { google, mistral, conversations }
await sdks[sdk]()

async function google() {
  const ai = new GoogleGenAI({ apiKey: 'client-key', httpOptions: { baseUrl: base, retryOptions: { attempts: 1 } } })
  const request = { model: 'long-thought', contents: 'What is it?' }
  const whole = await ai.models.generateContent(request)
  print('whole', reading([whole]))
  const chunks = []
  for await (const chunk of await ai.models.generateContentStream(request)) chunks.push(chunk)
  print('stream', reading(chunks))
  const refused = await ai.models.generateContent({ ...request, model: 'nowhere' }).catch((e) => e)
  print('refused', { reason: `${refused.name} ${refused.status}` })
}

// reading is what a program reads of Gemini's responses.
function reading(responses) {
  const read = { text: '', thought: '', reason: '' }
  for (const r of responses) {
    for (const part of r.candidates?.[0]?.content?.parts ?? []) read[part.thought ? 'thought' : 'text'] += part.text ?? ''
    read.reason = r.candidates?.[0]?.finishReason ?? read.reason
  }
  return read
}

async function mistral() {
  const { chat, fim, agents } = new Mistral({ serverURL: base, apiKey: 'client-key', retryConfig: { strategy: 'none' } })
  const messages = [{ role: 'user', content: 'What is 2+2?' }]
  const asked = { chat: [chat, { model: 'm', messages }], fim: [fim, { model: 'm', prompt: '2+2=' }], agents: [agents, { agentId: 'a', messages }] }
  for (const [name, [api, request]] of Object.entries(asked)) {
    const { choices: [{ message, finishReason }] } = await api.complete(request)
    print(`${name} whole`, { ...parts([message.content]), reason: finishReason })
    const deltas = []
    let reason
    for await (const { data } of await api.stream(request)) {
      deltas.push(data.choices[0].delta.content)
      reason = data.choices[0].finishReason ?? reason
    }
    print(`${name} stream`, { ...parts(deltas), reason })
  }
  // What was read goes back, with its thought.
  const { choices: [{ message }] } = await chat.complete({ model: 'm', messages })
  await chat.complete({ model: 'm', messages: [...messages, message, { role: 'user', content: 'And 3+3?' }] })
  const refused = await chat.complete({ model: 'nowhere', messages }).catch((e) => e)
  print('refused', { reason: `${refused.name} ${refused.statusCode}` })
}

// conversations are kept by Mistral's server.
async function conversations() {
  const { beta } = new Mistral({ serverURL: base, apiKey: 'client-key', retryConfig: { strategy: 'none' } })
  const refused = (name) => (e) => print(name, { reason: `${e.name} ${e.statusCode}` })
  const calls = (list) => list.filter((o) => o.type === 'function.call').map((o) => `${o.toolCallId} ${o.name} ${o.arguments}`).join()
  const entries = (name, list) => print(name, { ...parts(list.filter((o) => o.role === 'assistant').map((o) => o.content)), reason: calls(list) })
  const whole = (name, asked) => asked.then(({ outputs, messages, entries: history }) => entries(name, outputs ?? messages ?? history), refused(name))
  const stream = (name, asked) => asked.then(async (events) => {
    const deltas = [], called = []
    for await (const { data } of events) {
      if (data.type === 'message.output.delta') deltas.push([data.content].flat().map((c) => c.text ? { text: c.text } : typeof c === 'string' ? { text: c } : c))
      if (data.type === 'function.call.delta') called[data.outputIndex] = { ...data, type: 'function.call', arguments: (called[data.outputIndex]?.arguments ?? '') + data.arguments }
    }
    print(name, { ...parts(deltas), reason: calls(called.filter(Boolean)) })
  }, refused(name))
  const begin = { model: 'm', inputs: 'What is 2+2?' }
  const next = { conversationId: 'conv_1', conversationAppendRequest: { inputs: 'And 3+3?' }, conversationAppendStreamRequest: { inputs: 'And 3+3?' } }
  const again = { conversationId: 'conv_1', conversationRestartRequest: { inputs: 'And 3+3?', fromEntryId: 'msg_1' }, conversationRestartStreamRequest: { inputs: 'And 3+3?', fromEntryId: 'msg_1' } }
  await whole('whole', beta.conversations.start(begin))
  await stream('stream', beta.conversations.startStream(begin))
  await whole('append whole', beta.conversations.append(next))
  await stream('append stream', beta.conversations.appendStream(next))
  await whole('restart whole', beta.conversations.restart(again))
  await stream('restart stream', beta.conversations.restartStream(again))
  await whole('messages', beta.conversations.getMessages({ conversationId: 'conv_1' }))
  await whole('history', beta.conversations.getHistory({ conversationId: 'conv_1' }))
}

// parts is what a program reads of Mistral's contents: texts, or lists of parts.
function parts(contents) {
  const read = { text: '', thought: '' }
  for (const content of contents) {
    for (const part of typeof content === 'string' ? [{ text: content }] : content ?? []) {
      if (part.type === 'thinking') read.thought += part.thinking.map((p) => p.text).join('')
      else read.text += part.text
    }
  }
  return read
}
