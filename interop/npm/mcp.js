// Calls tools of `sotto mcp` with the MCP client of npm, and prints what it got, a
// JSON object a line. Arguments: the program and its arguments, or a URL.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

const [target, ...args] = process.argv.slice(2)
const transport = target.startsWith('http:')
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args })
const client = new Client({ name: 'judge', version: '1' })
await client.connect(transport)
const print = (x) => console.log(JSON.stringify(x))
print({ server: client.getServerVersion().name, tools: (await client.listTools()).tools.map((t) => t.name).sort() })
for (const [name, input] of [
  ['split', { text: '<think>6 × 7</think>Forty-two.' }],
  ['extract', { text: '<think>B</think>The answer is (C).', task: 'choice' }],
  ['score', { text: 'The answer is 5.', task: 'number', gold: '5' }],
  ['split', {}],
  ['record_search', { pattern: 'CANARY|answer' }],
]) {
  const r = await client.callTool({ name, arguments: input })
  print({ name, failed: r.isError ?? false, text: r.content[0].text, structured: r.structuredContent })
}
await client.close()
