// Serves an agent by the independent JavaScript SDK, and prints its URL. A message to it
// is a JSON object in base64, with lists of texts: statuses, each sent as a status of its
// own, and pieces, each appended to the artifact.
//
//	node peer.mjs
import { createServer } from 'node:http';
import { Task, TaskStatusUpdateEvent, TaskArtifactUpdateEvent, AgentCard } from '@a2a-js/sdk';
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore, JsonRpcTransportHandler, ServerCallContext } from '@a2a-js/sdk/server';

const agent = {
  async execute(request, bus) {
    const { taskId, contextId } = request;
    const { statuses, pieces } = JSON.parse(Buffer.from(request.userMessage.parts[0].content.value, 'base64'));
    const status = (state, text) => AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({
      taskId, contextId,
      status: { state, message: text === undefined ? undefined : { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts: [{ text }] } },
    }));
    bus.publish(AgentEvent.task(Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_SUBMITTED' } })));
    for (const text of statuses) bus.publish(status('TASK_STATE_WORKING', text));
    pieces.forEach((text, i) => bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON({
      taskId, contextId, artifact: { artifactId: 'answer', parts: [{ text }] }, append: i > 0, lastChunk: i === pieces.length - 1,
    }))));
    bus.publish(status('TASK_STATE_COMPLETED'));
    bus.finished();
  },
  async cancelTask() {},
};

const server = createServer(async (request, response) => {
  if (request.method === 'GET') {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(AgentCard.toJSON(card)));
    return;
  }
  let body = '';
  for await (const chunk of request) body += chunk;
  const context = new ServerCallContext({ requestedVersion: request.headers['a2a-version'] });
  const result = await rpc.handle(JSON.parse(body), context);
  if (typeof result[Symbol.asyncIterator] !== 'function') {
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(result));
    return;
  }
  response.setHeader('Content-Type', 'text/event-stream');
  for await (const event of result) response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end();
});
server.listen(0, '127.0.0.1');
await new Promise((ready) => server.once('listening', ready));
const url = `http://127.0.0.1:${server.address().port}`;
const card = AgentCard.fromJSON({
  name: 'peer', description: 'sends what it is told', version: '1', capabilities: { streaming: true },
  supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'], skills: [],
});
const rpc = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), agent));
console.log(url);
