// Sends a message by the independent JavaScript SDK, answers the question that comes
// back, and prints both tasks, an object a line.
//
//	node confirm.mjs URL TEXT ANSWER
import { ClientFactory, JsonRpcTransportFactory, DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { Task, Role } from '@a2a-js/sdk';

const [url, text, answer] = process.argv.slice(2);
const card = await new DefaultAgentCardResolver({}).resolve(url);
card.supportedInterfaces = card.supportedInterfaces.filter((i) => i.protocolBinding === 'JSONRPC' && i.protocolVersion === '1.0');
const client = await new ClientFactory({ transports: [new JsonRpcTransportFactory({})] }).createFromAgentCard(card);

const send = (value, { contextId = '', id = '' } = {}) => client.sendMessage({
  tenant: '',
  message: {
    messageId: crypto.randomUUID(), contextId, taskId: id, role: Role.ROLE_USER,
    parts: [{ content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined, extensions: [], referenceTaskIds: [],
  },
  configuration: undefined,
  metadata: undefined,
});
const asked = await send(text);
console.log(JSON.stringify(Task.toJSON(asked)));
console.log(JSON.stringify(Task.toJSON(await send(answer, asked))));
