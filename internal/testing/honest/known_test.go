package honest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A leak is a world that once showed a thought.
type leak struct {
	name string
	world
}

func alice(api string, tweaks ...string) request {
	return request{Who: "alice", API: api, Tweaks: tweaks}
}

func streamed(q request) request { q.Stream = true; return q }

var bobStreams = request{Who: "bob", API: "chat", Stream: true}

// hides is a world with the display hide.
func hides(server, model, script string, requests ...request) world {
	return world{Server: server, Model: model, Script: script, Display: routing.DisplayHide, NoAnswer: routing.NoAnswerEmpty, Requests: requests}
}

// TestKnownLeaks plays worlds that showed a thought once, each for one reason.
func TestKnownLeaks(t *testing.T) {
	for _, l := range slices.Concat(endedLeaks(), taughtLeaks(), startLeaks(), callLeaks(), unknownLeaks()) {
		t.Run(l.name, func(t *testing.T) {
			if f := l.run(t); f != nil {
				t.Errorf("%s after request %d of\n%s\n%s", f.what, f.at+1, l.world, f.got.body)
			}
		})
	}
}

// TestKnownLeaksOverBridges plays the same worlds with clients of other APIs than the upstream's.
func TestKnownLeaksOverBridges(t *testing.T) {
	clients := slices.Sorted(maps.Keys(bridged))
	played, answered, n := 0, 0, 0
	for _, l := range slices.Concat(endedLeaks(), taughtLeaks(), startLeaks(), callLeaks(), unknownLeaks()) {
		for _, as := range clients {
			w, ok := l.over(as)
			if n++; !ok || effort.Brief() && n%7 != 0 {
				continue
			}
			p := w.open(t)
			for i, q := range w.Requests {
				g := p.ask(q)
				if played++; g.status == 200 {
					answered++
				}
				if what := g.fault(w.Display); what != "" {
					t.Errorf("%s, from %s: %s after request %d of\n%s\n%s", l.name, as, what, i+1, w, g.body)
				}
			}
			p.close()
		}
	}
	if answered < played*9/10 {
		t.Errorf("%d of %d requests were answered", answered, played)
	}
}

// over is the world with clients of another API; ok is false if they cannot say the same.
func (l leak) over(api string) (w world, ok bool) {
	w = l.world
	w.Bridge, w.Restart, w.Judged = w.Requests[0].API, false, ""
	w.Requests = slices.Clone(w.Requests)
	for i := range w.Requests {
		q := &w.Requests[i]
		if bridged[w.Bridge] == "" || q.API != w.Bridge || q.API == api || q.Socket {
			return w, false
		}
		q.API = api
		for _, name := range q.Tweaks {
			if !tweakNamed(name).fits(named(api)) || api == "responses" && strings.HasPrefix(name, "stop ") { // llama.cpp's alone knows stop words
				return w, false
			}
		}
	}
	return w, true
}

// endedLeaks are replies that end within the thought, without a marker: by a stop word, or
// by an end of sequence.
func endedLeaks() (list []leak) {
	const model = "deepseek-r1"
	for _, k := range kinds {
		for _, name := range k.apis {
			if named(name).raw { // its prompt says how the reply begins
				continue
			}
			for _, stream := range []bool{false, true} {
				how := map[bool]string{false: "whole", true: "streamed"}[stream]
				for _, tw := range []string{`stop \n`, "stop </think>", "stop </", "stop is the"} {
					if name == "responses" && k.name != "llamacpp" {
						continue
					}
					q := request{Who: "alice", API: name, Stream: stream, Tweaks: []string{tw}}
					list = append(list, leak{fmt.Sprint(k.name, "/", name, "/", how, "/", tw), hides(k.name, model, "plain", q)})
				}
				for _, sc := range []string{"stops in the thought", "repeats in the thought"} {
					q := request{Who: "alice", API: name, Stream: stream}
					list = append(list, leak{fmt.Sprint(k.name, "/", name, "/", how, "/", sc), hides(k.name, model, sc, q)})
				}
			}
		}
	}
	socket := alice("responses", "stop is the")
	socket.Socket = true
	list = append(list,
		leak{"a stop word over a WebSocket", hides("llamacpp", model, "plain", socket)},
		leak{"a call of a declared tool from the thought", hides("vllm", model, "calls from the thought", alice("chat", "tools"))})
	for _, d := range []routing.Display{routing.DisplayField, routing.DisplayTags} {
		w := hides("vllm", model, "plain", alice("chat", `stop \n`))
		w.Display = d
		list = append(list, leak{"a stop word under " + string(d), w})
	}
	taught := hides("vllm", model, "plain", slices.Repeat([]request{{Who: "bob", API: "chat"}}, 10)...)
	taught.Requests = append(taught.Requests, alice("chat", "stop is the"))
	return append(list, leak{"a stop word after ten replies that began inside", taught})
}

// taughtLeaks are replies that show a thought because of what other requests taught.
func taughtLeaks() (list []leak) {
	for _, tokens := range []bool{false, true} {
		for _, tw := range []string{`stop \n`, "stop </think>"} {
			w := hides("vllm", "deepseek-r1", "plain", alice("chat", tw), alice("chat", tw), bobStreams, bobStreams)
			w.Tokens, w.Judged = tokens, "bob"
			list = append(list, leak{fmt.Sprintf("two requests with %q teach another caller's streams, tokens %v", tw, tokens), w})
			w.Restart = true
			list = append(list, leak{fmt.Sprintf("two requests with %q teach over a restart, tokens %v", tw, tokens), w})
		}
	}
	return list
}

// startLeaks are requests that change how a reply begins.
func startLeaks() []leak {
	parsed := func(w world) world { w.Parser = true; return w }
	generate := func(model, tweak string) world {
		return hides("ollama", model, "plain", streamed(alice("ollama.generate", tweak)))
	}
	completions := func(server, tweak string) world {
		return hides(server, "qwen3-8b", "plain", streamed(alice("completions", tweak)))
	}
	return []leak{
		{"separate_reasoning", parsed(hides("sglang", "qwen3-4b-thinking-2507", "plain",
			request{Who: "bob", API: "chat"}, request{Who: "bob", API: "chat"}, streamed(alice("chat", "separate_reasoning=false", "stop is the"))))},
		{"separate_reasoning, unknown name", parsed(hides("sglang", "frobnicator-thinker", "plain", streamed(alice("chat", "separate_reasoning=false"))))},
		{"reasoning_format", parsed(hides("llamacpp", "qwen3-4b-thinking-2507", "plain",
			request{Who: "bob", API: "chat"}, request{Who: "bob", API: "chat"}, streamed(alice("chat", "reasoning_format none", "stop is the"))))},
		{"reasoning_format, unknown name", parsed(hides("llamacpp", "frobnicator-thinker", "plain", streamed(alice("chat", "reasoning_format none"))))},
		{"chat_template that opens", hides("vllm", "qwen3-8b", "plain", streamed(alice("chat", "a template that opens")))},
		{"chat_template that opens and goes on", hides("vllm", "glm-4.5-air", "plain", streamed(alice("chat", "a template that opens and goes on")))},
		{"chat_template that opens, a name without thoughts", hides("vllm", "qwen3-8b", "plain", alice("chat", "a template that opens", "stop is the"))},
		{"an unknown switch of the template", hides("vllm", "frobnicator-hybrid", "plain", streamed(alice("chat", "kwargs deep_thought=true")))},
		{"a switch that another server reads", hides("vllm", "qwen3.5-9b", "plain", streamed(alice("chat", "enable_thinking=false", "stop is the")))},
		{"a thought continued", hides("vllm", "qwen3-8b", "plain", streamed(alice("chat", "continued thought")))},
		{"a thought continued, in reasoning", hides("vllm", "glm-4.5-air", "plain", streamed(alice("chat", "continued reasoning")))},
		{"a prefill in Responses", hides("ollama", "glm-4.5-air", "stops in the thought", alice("responses", "prefill opener"))},
		{"a prefill in Responses, streamed", hides("ollama", "glm-4.5-air", "stops in the thought", streamed(alice("responses", "prefill opener")))},
		{"a prefill that the server renders as a turn", hides("vllm", "deepseek-r1", "plain", streamed(alice("chat", "prefill close")))},
		{"a prefill after replies whose thoughts the server separated", parsed(hides("llamacpp", "qwen3-4b-thinking-2507", "plain",
			alice("chat"), alice("chat"), streamed(alice("messages", "prefill text"))))},
		{"an empty block continued after a reply whose thought the server separated", parsed(hides("llamacpp", "frobnicator-thinker", "plain",
			request{Who: "bob", API: "chat"}, alice("chat", "continued empty block")))},
		{"a list of prompts, the last one opens", completions("vllm", "prompts, last opened")},
		{"a list of prompts, the first one opens", completions("vllm", "prompts, first opened")},
		{"a list of prompts, the first one closes", completions("vllm", "prompts, first closed")},
		{"token ids", completions("vllm", "token ids")},
		{"lists of token ids", completions("sglang", "lists of token ids")},
		{"prompt_embeds", completions("vllm", "embeds")},
		{"prompt_embeds beside a prompt", completions("vllm", "embeds beside a prompt")},
		{"llama.cpp's mixed prompts", hides("llamacpp", "qwen3-8b", "plain", streamed(alice("completion", "text and token ids")))},
		{"llama.cpp's token ids", hides("llamacpp", "qwen3-8b", "plain", streamed(alice("completion", "token ids")))},
		{"Ollama's template", generate("qwen3-8b", "template")},
		{"Ollama's template that goes on", generate("qwen3-8b", "template that goes on")},
		{"Ollama's context", generate("qwen3-8b", "context")},
		{"Ollama's prompt in a template", generate("glm-4.5-air", "prompt in a template of its own")},
		{"Ollama's raw prompt that goes on", generate("qwen3-8b", "raw that goes on")},
		{"Ollama's thinking prefill", hides("ollama", "qwen3-8b", "plain", streamed(alice("ollama.chat", "thinking prefill")))},
		{"Ollama's thinking prefill, which the responses API has as a thought and an empty message", world{
			Server: "llamacpp", Model: "qwen3-4b-thinking-2507", Script: "stops in the thought", Display: routing.DisplayField, NoAnswer: routing.NoAnswerEmpty,
			Bridge: "responses", Requests: []request{alice("ollama.chat", "thinking prefill")},
		}},
		{"Ollama puts the prompt of /v1/completions into a template", hides("ollama", "deepseek-v3.1", "stops in the thought", alice("completions", "closed prompt"))},
	}
}

// callLeaks are thoughts that only mention a call.
func callLeaks() (list []leak) {
	for _, model := range []string{"glm-4.5-air", "qwen3-8b", "qwen3.5-9b"} {
		for _, sc := range []string{"mentions a call", "drafts a call", "begins a call"} {
			for _, tools := range [][]string{nil, {"tools"}} {
				q := alice("chat", tools...)
				list = append(list,
					leak{fmt.Sprint(model, " ", sc, " ", tools, " whole"), hides("vllm", model, sc, q)},
					leak{fmt.Sprint(model, " ", sc, " ", tools, " streamed"), hides("vllm", model, sc, streamed(q))})
			}
		}
	}
	return list
}

// unknownLeaks are streams of a model that no dialect knows, whose prompt opens the block.
func unknownLeaks() []leak {
	four := slices.Repeat([]request{bobStreams}, 4)
	return []leak{
		{"an unknown name, four streams, a close at the end of a line", hides("vllm", "frobnicator-thinker", "loose close", four...)},
		{"an unknown name, four streams, a close on a line of its own", hides("vllm", "frobnicator-thinker", "plain", four...)},
	}
}
