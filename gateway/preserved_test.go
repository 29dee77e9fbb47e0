package gateway_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A preservedServer is a server of a model whose signatures bind what precedes them: the system prompt, the tools,
// the earlier messages, and the thoughts before in the same reply. It refuses a request in which any of that is not as
// it was when the thought was signed, in the provider's own words, and one that leaves out a thought of the tool loop
// under way. Its replies show thoughts in blocks and between tags, so that a policy has something to change.
type preservedServer struct {
	t       *testing.T
	refused []string         // why it refused requests
	signed  []int            // of each request that it has answered: the signed thoughts in it
	last    map[string]any   // the last request
	replies [][]preservedSay // by the number of replies before
}

// A preservedSay is a block of a reply, by its kind: thinking, redacted_thinking, text or tool_use.
type preservedSay struct{ kind, text string }

// preservedReplies are those of a conversation of four questions. Thoughts stand in blocks, between tags, before and
// after each other, and in a turn of its own each.
var preservedReplies = [][]preservedSay{
	{{"thinking", "Oslo, then."}, {"text", "<think>a tag</think>Let me look."}, {"tool_use", ""}},
	{{"text", "<think>once more</think>Again."}, {"thinking", "It is cold."}, {"tool_use", ""}},
	{{"thinking", "So."}, {"text", "4 °C."}},

	{{"redacted_thinking", ""}, {"text", "<think>no block</think>I look."}, {"tool_use", ""}},
	{{"text", "<think>no block at all</think>Again."}, {"tool_use", ""}},
	{{"thinking", "Bergen is wet."}, {"text", "<think>wet</think>And again."}, {"tool_use", ""}},
	{{"redacted_thinking", ""}, {"text", "Rain."}},

	{{"text", "<think>easy</think>You are welcome."}},

	{{"thinking", "A last one."}, {"text", "Bye."}},
}

// proof signs a thought and all that precedes it.
func (s *preservedServer) proof(q map[string]any, before []any, said []any, thought string) string {
	h := hmac.New(sha256.New, []byte("the provider's"))
	said = slices.DeleteFunc(slices.Clone(said), func(b any) bool { return !strings.HasSuffix(str(obj(b)["type"]), "thinking") })
	io.WriteString(h, encoded([]any{q["system"], bareOf(q["tools"]), bareOf(before), bareOf(said), thought}))
	return base64.StdEncoding.EncodeToString(h.Sum([]byte{0x12}))
}

// bareOf is a value without what a client marks for the cache, and with a text as a list of one.
func bareOf(v any) any {
	switch v := v.(type) {
	case []any:
		all := []any{}
		for _, e := range v {
			all = append(all, bareOf(e))
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for key, e := range v {
			if key != "cache_control" {
				all[key] = bareOf(e)
			}
		}
		if text, ok := all["content"].(string); ok && all["role"] != nil {
			all["content"] = []any{map[string]any{"type": "text", "text": text}}
		}
		return all
	}
	return v
}

// fault is why the server refuses a request, or "". signed are the thoughts that it has signed.
func (s *preservedServer) fault(q map[string]any) (fault string, signed int) {
	all, _ := q["messages"].([]any)
	for i, m := range all {
		blocks, _ := obj(m)["content"].([]any)
		for j, b := range blocks {
			b := obj(b)
			name, thought := "signature", str(b["thinking"])
			switch b["type"] {
			case "redacted_thinking":
				name, thought = "data", ""
			case "thinking":
			default:
				continue
			}
			if signed++; str(b[name]) != s.proof(q, all[:i], blocks[:j], thought) {
				return fmt.Sprintf("messages.%d.content.%d: Invalid `%s` in `%s` block. The block is bound to a different conversation.", i, j, name, b["type"]), signed
			}
		}
	}
	return "", signed
}

func (s *preservedServer) answer(r *http.Request) *http.Response {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

func (s *preservedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	q := obj(decodedJSON(string(body)))
	s.last = q
	fault, signed := s.fault(q)
	w.Header().Set("Content-Type", "application/json")
	if fault != "" {
		s.refused = append(s.refused, fault)
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, encoded(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": fault}}))
		return
	}
	s.signed = append(s.signed, signed)
	blocks := s.reply(q)
	stop := "end_turn"
	if obj(blocks[len(blocks)-1])["type"] == "tool_use" {
		stop = "tool_use"
	}
	message := map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": q["model"], "content": blocks, "stop_reason": stop, "stop_sequence": nil, "usage": map[string]any{"input_tokens": 5, "output_tokens": 9}}
	if q["stream"] != true {
		io.WriteString(w, encoded(message))
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Write(messageEvents(message, blocks, stop))
}

// reply is the next of the conversation, signed.
func (s *preservedServer) reply(q map[string]any) []any {
	all, _ := q["messages"].([]any)
	n, before := 0, ""
	for _, m := range all {
		if role := str(obj(m)["role"]); role != before && role == "assistant" {
			n++
		}
		before = str(obj(m)["role"])
	}
	said := []any{}
	for _, say := range s.replies[n%len(s.replies)] {
		b := map[string]any{"type": say.kind}
		switch say.kind {
		case "thinking":
			b["thinking"], b["signature"] = say.text, s.proof(q, all, said, say.text)
		case "redacted_thinking":
			b["data"] = s.proof(q, all, said, "")
		case "text":
			b["text"] = say.text
		case "tool_use":
			b["id"], b["name"], b["input"] = fmt.Sprintf("toolu_%022d", n+1), weather, map[string]any{"city": "Oslo"}
		}
		said = append(said, b)
	}
	return said
}

// messageEvents are the events of a reply that is streamed.
func messageEvents(message map[string]any, blocks []any, stop string) []byte {
	var out bytes.Buffer
	event := func(kind string, o map[string]any) {
		o["type"] = kind
		fmt.Fprintf(&out, "event: %s\ndata: %s\n\n", kind, encoded(o))
	}
	message["content"], message["stop_reason"] = []any{}, nil
	event("message_start", map[string]any{"message": message})
	for i, b := range blocks {
		b := obj(b)
		begun, deltas := map[string]any{}, []map[string]any(nil)
		for key, v := range b {
			begun[key] = v
		}
		switch b["type"] {
		case "thinking":
			begun["thinking"], begun["signature"] = "", ""
			deltas = []map[string]any{{"type": "thinking_delta", "thinking": b["thinking"]}, {"type": "signature_delta", "signature": b["signature"]}}
		case "text":
			begun["text"] = ""
			for _, r := range str(b["text"]) {
				deltas = append(deltas, map[string]any{"type": "text_delta", "text": string(r)})
			}
		case "tool_use":
			begun["input"] = map[string]any{}
			deltas = []map[string]any{{"type": "input_json_delta", "partial_json": encoded(b["input"])}}
		}
		event("content_block_start", map[string]any{"index": i, "content_block": begun})
		for _, d := range deltas {
			event("content_block_delta", map[string]any{"index": i, "delta": d})
		}
		event("content_block_stop", map[string]any{"index": i})
	}
	event("message_delta", map[string]any{"delta": map[string]any{"stop_reason": stop, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": 9}})
	event("message_stop", map[string]any{})
	return out.Bytes()
}

// A preservedRun is a conversation with such a server.
type preservedRun struct {
	as      *ledgerAPI // that the client speaks
	policy  history.Policy
	display routing.Display
	client  string
	stream  bool
	restart bool // before each request, the gateway starts again, and remembers nothing
}

func (r *preservedRun) String() string {
	return fmt.Sprintf("%s, %s, %s, client %s, stream %v, restart %v", r.as.name, r.policy, r.display, r.client, r.stream, r.restart)
}

// play has the conversation. It returns what is wrong, or "".
func (r *preservedRun) play(t *testing.T) string {
	s := &preservedServer{t: t, replies: preservedReplies}
	config := gateway.Config{
		Default:   routing.Route{Display: r.display, History: r.policy},
		Transport: answering(s.answer), Upstream: &url.URL{Scheme: "http", Host: "upstream"}, UpstreamAPI: "anthropic.messages",
	}
	if r.restart {
		config.Data = t.TempDir()
	}
	g := opened(t, config)
	defer func() { g.Close() }()
	var talk []any
	for _, question := range []string{"Oslo?", "Bergen?", "Thanks.", "Bye."} {
		talk = append(talk, r.as.user(question))
		for {
			if r.restart {
				g.Close()
				g = opened(t, config)
			}
			w := ask(g, r.as.path("claude-opus-5-5", r.stream), r.as.request("claude-opus-5-5", r.stream, true, talk))
			if len(s.refused) > 0 || w.Code != http.StatusOK {
				return fmt.Sprintf("%d %s after %d replies; the provider refused %q\nthe client sent %s\nthe provider got %s", w.Code, w.Body, len(s.signed), s.refused, encoded(talk), encoded(s.last["messages"]))
			}
			reply := r.as.join(t, w.Body.Bytes(), r.stream)
			calls := slices.DeleteFunc(r.as.parts(reply), func(p ledgerPart) bool { return p.kind != "call" })
			if r.as.treat(reply, r.client); len(r.as.parts(reply)) > 0 {
				talk = append(talk, r.as.sent(reply)...)
			}
			for _, call := range calls {
				talk = append(talk, r.as.result(call))
			}
			if len(calls) == 0 {
				break
			}
		}
	}
	if len(s.signed) != len(preservedReplies) {
		return fmt.Sprintf("%d requests", len(s.signed))
	}
	return r.judge(s)
}

// lasts reports whether a conversation also works if nothing is remembered. Under tags, a text then has the thought of a
// block too, and a client that has emptied a thought has nothing of it.
func (r *preservedRun) lasts() bool {
	return r.display != routing.DisplayTags && (r.client != "empty" || r.as.name != "anthropic.messages")
}

func opened(t *testing.T, config gateway.Config) *gateway.Handler {
	g, err := gateway.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// judge: a client that sends its thoughts back has all of them with the provider, and a tool loop has those that are its own.
func (r *preservedRun) judge(s *preservedServer) string {
	want := []int{0, 1, 2, 3, 4, 4, 5, 6, 6}
	for i, n := range s.signed {
		if r.client == "echo" && r.as.hasSlot() && n != want[i] {
			return fmt.Sprintf("%d signed thoughts, want %d", s.signed, want)
		}
	}
	return ""
}

// TestPreservedThinking: where a provider's signatures bind what precedes them, no policy and no display of the gateway
// changes what precedes a thought that the provider gets back, whatever the client speaks and does.
func TestPreservedThinking(t *testing.T) {
	for _, as := range ledgerAPIs {
		t.Run(as.name, func(t *testing.T) {
			t.Parallel()
			chosen := effort.OneOf(20, 3, t.Name())
			for _, policy := range history.Policies() {
				for _, display := range ledgerDisplays {
					for _, client := range ledgerClients {
						for _, stream := range []bool{false, true} {
							for _, restart := range []bool{false, true} {
								r := preservedRun{as, policy, display, client.name, stream, restart}
								if client.name == "renames" || restart && !r.lasts() || !chosen() {
									continue
								}
								if wrong := r.play(t); wrong != "" {
									t.Errorf("%s: %s", &r, wrong)
								}
							}
						}
					}
				}
			}
		})
	}
}
