// Uses the Interactions API with Google's client, and prints what it gets, a JSON object a line. Arguments: the
// gateway's address for each display, as DISPLAY=ADDRESS.
import { GoogleGenAI } from '@google/genai'

const model = 'gemini-3-pro'
const tools = [{ type: 'function', name: 'add', parameters: { type: 'object' } }]
const user = (text) => ({ type: 'user_input', content: [{ type: 'text', text }] })
const textsOf = (list) => (list ?? []).map((c) => c.text).join('')
// short says what a step holds in one string.
const short = (s) => ({
  thought: () => `thought:${textsOf(s.summary)}:${s.signature ?? ''}`,
  model_output: () => `output:${textsOf(s.content)}`,
  function_call: () => `call:${s.id}:${s.name}:${JSON.stringify(s.arguments)}`,
}[s.type]())

// gather makes the steps of a stream, as a client does that sends them back.
async function gather(stream, all) {
  const steps = [], args = {}
  let last
  for await (const event of stream) {
    all.push(event)
    const { event_type: type, index, delta } = event
    if (type === 'step.start') steps[index] = { ...event.step }
    if (type === 'interaction.completed') last = event.interaction
    if (type !== 'step.delta') continue
    const s = steps[index]
    if (delta.type === 'text') s.content = [{ type: 'text', text: textsOf(s.content) + delta.text }]
    if (delta.type === 'thought_summary') s.summary = [...(s.summary ?? []), delta.content]
    if (delta.type === 'thought_signature') s.signature = (s.signature ?? '') + delta.signature
    if (delta.type === 'arguments_delta') s.arguments = JSON.parse(args[index] = (args[index] ?? '') + delta.arguments)
  }
  return { id: last.id, status: last.status, steps }
}

for (const [display, base] of process.argv.slice(2).map((arg) => arg.split('='))) {
  const ai = new GoogleGenAI({ apiKey: 'client-key', httpOptions: { baseUrl: base } })
  const all = [] // that the client returned
  const ask = async (request) => {
    const got = await ai.interactions.create({ model, tools, ...request })
    if (request.stream) return gather(got, all)
    all.push(got)
    return got
  }
  for (const stream of [false, true]) {
    const print = (name, ...values) => console.log(JSON.stringify([display, stream ? 'streamed' : 'whole', name, ...values]))
    const one = await ask({ stream, store: false, input: 'What is 2+2?' })
    print('steps', one.status, ...one.steps.map(short))
    const result = { type: 'function_result', call_id: 'c1', name: 'add', result: '4' }
    const two = await ask({ stream, store: false, input: [user('What is 2+2?'), ...one.steps, result] })
    print('echoed', two.status)
    const kept = await ask({ stream, input: 'What is 2+2?' })
    const next = await ask({ stream, input: [result], previous_interaction_id: kept.id })
    print('continued', next.status, next.id !== kept.id)
    const lost = await ask({ stream, input: [result], previous_interaction_id: 'v1_unknown' }).catch((e) => e)
    print('unknown', lost.status)
  }
  console.log(JSON.stringify([display, 'secret', JSON.stringify(all).includes('secret')]))
}
