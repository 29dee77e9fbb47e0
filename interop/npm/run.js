// Drives clients from npm through a gateway, and prints what each of them reads, an
// object a line. The plan comes on standard input. judge_test.go judges. Each file of the
// folder clients has clients; those of bridged.js talk only where the plan asks for more.
import { readdirSync, readFileSync } from 'node:fs';
import { Talk } from './talk.js';

const { talks, lanes, only, more = [] } = JSON.parse(readFileSync(0, 'utf8'));
const files = readdirSync(new URL('clients', import.meta.url)).filter((name) => name !== 'bridged.js' || more.includes('bridged'));
const clients = (await Promise.all(files.map((name) => import(`./clients/${name}`)))).flatMap((m) => m.default);

const version = (name) => JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
const print = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

for (const { talk, ...client } of clients) {
  const versions = [version(client.package), ...(client.with ? [`with ai ${version(client.with)}`] : [])];
  print({ client: { ...client, version: versions.join(' ') } });
}

// Some clients leave promises that nobody waits for when a stream is aborted.
process.on('unhandledRejection', (err) => {
  if (err?.name !== 'AbortError') print({ unhandled: String(err?.stack ?? err) });
});

const queue = clients.filter((c) => !only || c.name.includes(only)).flatMap((client) => talks.map((plan) => ({ client, plan })));
await Promise.all(Array.from({ length: lanes }, async () => {
  for (let next; (next = queue.shift());) await converse(next.client, next.plan);
}));
process.exit(0);

async function converse(client, plan) {
  if (plan.apis && !plan.apis.includes(client.api) || plan.clients && !plan.clients.includes(client.name)) return;
  const key = `${client.name}/${plan.check}/${plan.model}/${plan.stream ? 'stream' : 'whole'}`.replaceAll(/[^\w./:-]+/g, '-');
  const t = new Talk({ ...plan, key, base: plan.bases[client.field ?? ''] });
  let error = null;
  const late = setTimeout(() => print({ late: key }), 20_000);
  try {
    await client.talk(t);
  } catch (err) {
    error = String(err?.message ?? err);
  }
  clearTimeout(late);
  print({ done: { client: client.name, check: plan.check, model: plan.model, stream: plan.stream, key, turns: t.turns, error } });
}
