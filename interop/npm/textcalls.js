// Runs a tool loop by Cohere's SDK with a model that writes its calls into its text, and
// prints what the SDK read, a JSON object a line. Argument: the address of a gateway.
import { CohereClientV2 } from 'cohere-ai'

const [base] = process.argv.slice(2)
const client = new CohereClientV2({ environment: base, token: 'client-key' })
const tools = [{ type: 'function', function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } } }]

for (const [name, ask] of Object.entries({ whole, stream })) {
  const messages = [{ role: 'user', content: 'What is it?' }]
  for (const turn of ['call', 'answer']) {
    const { message, reason } = await ask({ model: 'qwen3', messages, tools })
    const parts = message.content ?? []
    const calls = message.toolCalls ?? []
    console.log(JSON.stringify({
      name: `${name} ${turn}`, reason, text: parts.map((p) => p.text ?? '').join('|'), thought: parts.map((p) => p.thinking ?? '').join(''),
      calls: calls.map((c) => `${c.function.name} ${c.function.arguments}`),
    }))
    messages.push(message, ...calls.map((c) => ({ role: 'tool', toolCallId: c.id, content: '4 °C, rain' })))
  }
}

async function whole(request) {
  const { message, finishReason } = await client.chat(request, { maxRetries: 0 })
  return { message, reason: finishReason }
}

async function stream(request) {
  const message = { role: 'assistant' }
  let reason
  for await (const e of await client.chatStream(request, { maxRetries: 0 })) {
    const said = e.delta?.message
    if (e.type === 'content-start') (message.content ??= [])[e.index] = said.content
    if (e.type === 'content-delta') for (const [key, text] of Object.entries(said.content)) message.content[e.index][key] += text
    if (e.type === 'tool-call-start') (message.toolCalls ??= [])[e.index] = said.toolCalls
    if (e.type === 'tool-call-delta') message.toolCalls[e.index].function.arguments += said.toolCalls.function.arguments
    if (e.type === 'message-end') reason = e.delta.finishReason
  }
  return { message, reason }
}
