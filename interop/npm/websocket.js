// Runs tool loops over a WebSocket by OpenAI's SDK, one after the other and in two lanes at
// the same time, and prints what the SDK read, a JSON object a line. Argument: the address
// of a gateway.
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'

const [base] = process.argv.slice(2)
const ws = new ResponsesWS(new OpenAI({ baseURL: `${base}/v1`, apiKey: 'client-key' }))
const tools = [{ type: 'function', name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }]
const waiting = new Map()
let events = 0

ws.on('event', (event) => {
  const lane = event.stream_id ?? ''
  events++
  if (event.type === 'error') waiting.get(lane)?.({ error: event.error?.code })
  if (['response.completed', 'response.incomplete', 'response.failed'].includes(event.type)) waiting.get(lane)?.(event.response)
})
ws.on('error', () => {}) // the event has it

function turn(lane, more) {
  return new Promise((resolve) => {
    waiting.set(lane, resolve)
    ws.send({ type: 'response.create', ...(lane && { stream_id: lane }), model: 'qwen3', store: false, tools, ...more })
  })
}

// loop asks, runs the tool, and asks on twice. It returns what the model said.
async function loop(lane) {
  const said = []
  let previous
  let input = 'What is it?'
  for (let i = 0; i < 4; i++) {
    const response = await turn(lane, { input, previous_response_id: previous })
    const calls = response.output.filter((item) => item.type === 'function_call')
    said.push(response.output.map((item) => item.type === 'function_call' ? `${item.name} ${item.arguments}`
      : item.content.map((part) => `${item.type}: ${part.text.trim()}`).join('')).join(', '))
    previous = response.id
    input = calls.length ? calls.map((call) => ({ type: 'function_call_output', call_id: call.call_id, output: '4 °C, rain' })) : 'And now?'
  }
  return said
}

const print = (name, said) => console.log(JSON.stringify({ name, said }))
print('alone', await loop(''))
const [a, b] = await Promise.all([loop('a'), loop('b')])
print('a', a)
print('b', b)
const ready = await turn('', { generate: false, input: 'Warm up.' })
print('prepared', [ready.status, String(ready.output.length)])
print('continued', (await turn('', { previous_response_id: ready.id, input: 'Go.' })).output.filter((item) => item.type === 'message').map((item) => item.content[0].text.trim()))
print('wrong', [(await turn('', { store: 'no' })).error])
ws.on('close', () => {})
ws.close()
print('events', [events > 50 ? 'many' : String(events)])
