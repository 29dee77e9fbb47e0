// Continues conversations with an agent that the gateway keeps, with the clients of
// OpenAI and Ollama, and prints each answer, a JSON object a line. Argument: the
// gateway's address.
import OpenAI from 'openai'
import { Ollama } from 'ollama'

const [base] = process.argv.slice(2)
const model = 'agent/counter'
const print = (name, text) => console.log(JSON.stringify({ name, text }))
const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'client-key' })

const one = await openai.responses.create({ model, input: 'One.' })
print('responses', one.output_text)
const two = await openai.responses.create({ model, input: 'Two.', previous_response_id: one.id })
print('previous_response_id', two.output_text)
const stream = openai.responses.stream({ model, input: 'Three.', previous_response_id: two.id })
print('stream', (await stream.finalResponse()).output_text)
print('branch', (await openai.responses.create({ model, input: 'Two.', previous_response_id: one.id })).output_text)
// Two requests at once to one name: the client asks again until both are answered.
const both = await Promise.all([1, 2].map(() => openai.responses.create({ model, input: 'One.', conversation: 'n' }, { maxRetries: 10 })))
print('conversation', both.map((r) => r.output_text).sort().join(' '))

const headers = { 'Sotto-Conversation': 'n' }
const chat = await openai.chat.completions.create({ model, messages: [{ role: 'user', content: 'Three.' }] }, { headers })
print('chat', chat.choices[0].message.content)

const ollama = new Ollama({ host: base, headers: { 'Sotto-Conversation': 'o' } })
for (const stream of [false, true]) {
  const r = await ollama.chat({ model, messages: [{ role: 'user', content: 'Hi.' }], stream })
  let text = ''
  for await (const part of stream ? r : [r]) text += part.message.content
  print('ollama', text)
}
const refused = await openai.responses.create({ model, input: 'One.', previous_response_id: 'resp_none' }).catch((e) => e)
print('refused', `${refused.status}`)
