// An agent of Mastra, as a program: it gives a model one prompt and one tool, and prints what it
// reads. Arguments: an address, a model, whether the last conversation goes on, and a prompt.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent } from '@mastra/core/agent';
import { createTool } from '@mastra/core/tools';
import { z } from 'zod';

const [url, model, resume, prompt] = process.argv.slice(2);
const saved = 'messages.json';
const messages = resume === 'resume' && existsSync(saved) ? JSON.parse(readFileSync(saved, 'utf8')) : [];
messages.push({ role: 'user', content: prompt });

const bash = createTool({
  id: 'bash',
  description: 'Runs a command.',
  inputSchema: z.object({ command: z.string(), description: z.string().optional() }),
  execute: async ({ command }) => execFileSync('sh', ['-c', command], { encoding: 'utf8' }) || 'done',
});
const agent = new Agent({
  id: 'agent', name: 'agent', instructions: 'Answer briefly.', tools: { bash }, maxRetries: 0,
  model: { id: `sotto/${model}`, url, apiKey: 'key' },
});
const answer = await agent.stream(messages, { maxSteps: 5 });
for await (const part of answer.fullStream) {
  if (part.type === 'error') throw part.payload.error;
  if (part.type === 'reasoning-delta' || part.type === 'text-delta') process.stdout.write(part.payload.text);
}
writeFileSync(saved, JSON.stringify([...messages, ...(await answer.response).messages]));
