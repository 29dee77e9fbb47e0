import type { Sotto, Splitter } from "./core.js";
import type { Delta, Ending, Options } from "./types.js";

/** A part of a stream of the AI SDK, of which Sotto reads the texts and the end. */
type Part = { type: string; [key: string]: any };

interface Call {
  doGenerate(): PromiseLike<any>;
  doStream(): PromiseLike<any>;
  params: { tools?: { type: string; name?: string }[] };
  model: { modelId: string };
}

/** What `wrapLanguageModel` takes as middleware. */
export interface Middleware {
  specificationVersion: "v4";
  wrapGenerate(call: Call): Promise<any>;
  wrapStream(call: Call): Promise<any>;
}

const endings: Record<string, Ending> = { stop: "stopped", "tool-calls": "stopped", length: "cut", "content-filter": "aborted", error: "aborted", interrupted: "aborted" };

function endingOf(reason: unknown): Ending {
  const unified = typeof reason === "string" ? reason : (reason as { unified?: string } | undefined)?.unified;
  return endings[unified ?? ""] ?? "unknown";
}

/**
 * middleware separates reasoning from text in the models of the AI SDK:
 *
 *     const model = wrapLanguageModel({ model: provider("qwen3:8b"), middleware: middleware(await load()) });
 *
 * The name of the model and the names of the tools come from the call, if the options do not say otherwise.
 */
export function middleware(sotto: Sotto, options: Options = {}): Middleware {
  const optionsOf = (call: Call): Options => ({
    model: call.model.modelId,
    tools: (call.params.tools ?? []).flatMap((t) => (t.name === undefined ? [] : [t.name])),
    ...options,
  });
  return {
    specificationVersion: "v4",
    async wrapGenerate(call) {
      const result = await call.doGenerate();
      return { ...result, content: contentOf(sotto, optionsOf(call), result.content, endingOf(result.finishReason)) };
    },
    async wrapStream(call) {
      const result = await call.doStream();
      return { ...result, stream: result.stream.pipeThrough(parts(sotto.splitter(optionsOf(call)))) };
    },
  };
}

/** contentOf is the content of a whole reply, whose texts are read as one. */
function contentOf(sotto: Sotto, options: Options, content: Part[], end: Ending): Part[] {
  const texts = content.filter((c) => c.type === "text");
  if (texts.length === 1) {
    // A whole reply shows where it begins.
    const reply = sotto.parse(texts[0]!.text, { ...options, end });
    const thoughts = reply.reasoning.map((text): Part => ({ type: "reasoning", text }));
    return content.flatMap((c) => (c !== texts[0] ? [c] : reply.visible === "" ? thoughts : [...thoughts, { ...c, text: reply.visible }]));
  }
  const splitter = sotto.splitter(options);
  const out: Part[] = [];
  const add = (deltas: Delta[], rest: Part = {} as Part) => {
    for (const d of deltas) {
      if ((d.type !== "text" && d.type !== "reasoning") || d.text === "") continue;
      const last = out.at(-1);
      if (last?.type === d.type && last.read) last.text += d.text;
      else out.push({ ...rest, type: d.type, text: d.text, read: true });
    }
  };
  for (const c of content) {
    if (c.type === "text") add(splitter.feed(c.text), c);
    else out.push(c);
  }
  add(splitter.close(end));
  return out.map(({ read: _, ...part }) => part as Part);
}

/** parts reads the texts of a stream as one reply, and gives texts and reasoning under names of its own. */
function parts(splitter: Splitter): TransformStream<Part, Part> {
  let open: { type: "text" | "reasoning"; id: string } | undefined;
  let count = 0, closed = false;
  const end = (controller: TransformStreamDefaultController<Part>) => {
    if (open) controller.enqueue({ type: `${open.type}-end`, id: open.id });
    open = undefined;
  };
  const give = (deltas: Delta[], controller: TransformStreamDefaultController<Part>) => {
    for (const d of deltas) {
      if (d.type === "reasoning-end") end(controller);
      if ((d.type !== "text" && d.type !== "reasoning") || d.text === "") continue;
      if (open?.type !== d.type) {
        end(controller);
        open = { type: d.type, id: `sotto-${count++}` };
        controller.enqueue({ type: `${d.type}-start`, id: open.id });
      }
      controller.enqueue({ type: `${d.type}-delta`, id: open.id, delta: d.text });
    }
  };
  const close = (ending: Ending, controller: TransformStreamDefaultController<Part>) => {
    if (!closed) give(splitter.close(ending), controller);
    closed = true;
    end(controller);
  };
  return new TransformStream<Part, Part>({
    transform(part, controller) {
      switch (part.type) {
        case "text-start":
        case "text-end":
          return;
        case "text-delta":
          return give(splitter.feed(part.delta), controller);
        case "finish":
          close(endingOf(part.finishReason), controller);
          break;
        case "stream-start":
        case "response-metadata":
        case "raw":
        case "ping":
          break;
        default:
          end(controller); // a call or the server's own reasoning stands between two texts
      }
      controller.enqueue(part);
    },
    flush: (controller) => close("unknown", controller),
  });
}
