// Sends one message to an A2A server by the independent JavaScript SDK and
// prints what comes, an object a line.
//
//	node ask.mjs URL BINDING VERSION send|stream TEXT
import { ClientFactory, JsonRpcTransportFactory, RestTransportFactory, DefaultAgentCardResolver } from '@a2a-js/sdk/client';
import { StreamResponse, Task, Role } from '@a2a-js/sdk';

const [url, binding, version, mode, text] = process.argv.slice(2);
const legacyCompat = { enabled: true };
const card = await new DefaultAgentCardResolver({ legacyCompat }).resolve(url);
card.supportedInterfaces = card.supportedInterfaces.filter(
  (i) => i.protocolBinding === binding && i.protocolVersion === version,
);
const client = await new ClientFactory({
  transports: [new JsonRpcTransportFactory({ legacyCompat }), new RestTransportFactory({ legacyCompat })],
}).createFromAgentCard(card);

const request = {
  tenant: '',
  message: {
    messageId: crypto.randomUUID(), contextId: '', taskId: '', role: Role.ROLE_USER,
    parts: [{ content: { $case: 'text', value: text }, metadata: undefined, filename: '', mediaType: '' }],
    metadata: undefined, extensions: [], referenceTaskIds: [],
  },
  configuration: undefined,
  metadata: undefined,
};

const show = (kind, value) => console.log(JSON.stringify({ kind, value }));
if (mode === 'send') {
  const res = await client.sendMessage(request);
  show('result', res.status ? Task.toJSON(res) : res);
  show('again', Task.toJSON(await client.getTask({ tenant: '', id: res.id, historyLength: undefined })));
} else {
  for await (const event of client.sendMessageStream(request)) show('event', StreamResponse.toJSON(event));
}
