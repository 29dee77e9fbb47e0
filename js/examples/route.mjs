// A route handler in the form of Next.js, Hono, Deno and Cloudflare Workers: a Request goes in, and a
// Response comes out. The answer streams to the client, and the thought does not.
import { forNextPrompt, load, read } from "../dist/index.js"; // "@sotto-llm/sotto"

const sotto = load(); // once, for all requests

export async function POST(request) {
  const { model, messages } = await request.json();
  const reply = await fetch(new URL("/v1/chat/completions", process.env.MODEL_SERVER), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model, messages: forNextPrompt(await sotto, messages, model), stream: true }),
    signal: request.signal, // a client that goes away ends the reply
  });
  if (!reply.ok) return new Response("the model does not answer", { status: 502 });
  const texts = new TransformStream({
    transform(delta, controller) {
      if (delta.type === "text") controller.enqueue(delta.text);
    },
  });
  const body = reply.body.pipeThrough(read(await sotto, { model })).pipeThrough(texts).pipeThrough(new TextEncoderStream());
  return new Response(body, { headers: { "Content-Type": "text/plain; charset=utf-8" } });
}
