// Has conversations that the gateway keeps for an upstream that keeps none, with the client of OpenAI, and prints
// what it finds, a JSON object a line. Argument: the gateway's address.
import OpenAI from 'openai'

const [base] = process.argv.slice(2)
const model = 'plain'
const print = (name, ...values) => console.log(JSON.stringify([name, ...values]))
const openai = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'client-key', maxRetries: 0 })
const texts = (items) => items.map((it) => it.content[0].text)

const one = await openai.responses.create({ model, input: 'One.' })
print('create', one.store, one.previous_response_id)
const two = await openai.responses.create({ model, input: 'Two.', previous_response_id: one.id })
print('continue', two.previous_response_id === one.id, two.output_text === one.output_text)
const stream = openai.responses.stream({ model, input: 'Three.', previous_response_id: two.id })
const three = await stream.finalResponse()
print('stream', three.store, three.id !== two.id)
const again = await openai.responses.retrieve(three.id)
print('retrieve', again.id === three.id, again.output_text === three.output_text)
const items = []
for await (const it of openai.responses.inputItems.list(three.id, { order: 'asc', limit: 2 })) items.push(it)
print('inputItems', texts(items).filter((t) => t !== one.output_text), items.length)
await openai.responses.delete(one.id)
for (const lost of [() => openai.responses.retrieve(one.id), () => openai.responses.create({ model, input: 'Two.', previous_response_id: one.id })]) {
  const e = await lost().catch((e) => e)
  print('deleted', e.status, e.code)
}

const conversation = await openai.conversations.create({ metadata: { topic: 'a' }, items: [{ type: 'message', role: 'user', content: 'Zero.' }] })
await openai.responses.create({ model, input: 'One.', conversation: conversation.id })
const changed = await openai.conversations.update(conversation.id, { metadata: { topic: 'b' } })
print('conversation', changed.metadata, (await openai.conversations.retrieve(conversation.id)).id === conversation.id)
const listed = []
for await (const it of openai.conversations.items.list(conversation.id, { order: 'asc' })) listed.push(it)
print('items', texts(listed).length, texts(listed)[0])
const added = await openai.conversations.items.create(conversation.id, { items: [{ type: 'message', role: 'user', content: 'More.' }] })
print('added', texts(added.data))
await openai.conversations.items.delete(added.data[0].id, { conversation_id: conversation.id })
print('removed', (await openai.conversations.items.list(conversation.id)).data.length === listed.length)
print('gone', (await openai.conversations.delete(conversation.id)).deleted)

let job = await openai.responses.create({ model, input: 'Later.', background: true })
print('background', job.status)
while (job.status === 'in_progress' || job.status === 'queued') job = await openai.responses.retrieve(job.id)
print('done', job.status, job.output_text === one.output_text)
