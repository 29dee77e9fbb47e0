package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
)

// restarted are the gateways that a conversation goes to after its first turn, with the keys of
// the first one or without.
var restarted = map[string]struct {
	first, then func(dir string) gateway.Config
	lost        bool // the key is
}{
	"with the same folder": {
		first: func(dir string) gateway.Config { return gateway.Config{Data: dir} },
		then:  func(dir string) gateway.Config { return gateway.Config{Data: dir} },
	},
	"replica without a store": {
		first: func(string) gateway.Config { return gateway.Config{SharedSecret: []byte("a secret of the replicas")} },
		then:  func(string) gateway.Config { return gateway.Config{SharedSecret: []byte("a secret of the replicas")} },
	},
	"after a rotation": {
		first: func(string) gateway.Config { return gateway.Config{SharedSecret: []byte("a secret of the replicas")} },
		then: func(string) gateway.Config {
			return gateway.Config{SharedSecret: []byte("another secret of them"), OldSecrets: [][]byte{[]byte("a secret of the replicas")}}
		},
	},
	"with replicas from now on": {
		first: func(dir string) gateway.Config { return gateway.Config{Data: dir} },
		then: func(dir string) gateway.Config {
			return gateway.Config{Data: dir, SharedSecret: []byte("a secret of the replicas")}
		},
	},
	"without the key": {
		first: func(string) gateway.Config { return gateway.Config{} },
		then:  func(string) gateway.Config { return gateway.Config{} },
		lost:  true,
	},
}

// sealedCopy is one in a text.
var sealedCopy = regexp.MustCompile(sealedslot.Prefix + `[A-Za-z0-9+/]+=*`)

// watched is an upstream, and what it got last.
func watched(t *testing.T, upstream http.Handler) (address string, seen *string) {
	t.Helper()
	seen = new(string)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = readAll(t, r.Body)
		r.Body = io.NopCloser(bytes.NewReader([]byte(*seen)))
		upstream.ServeHTTP(w, r)
	}))
	t.Cleanup(up.Close)
	return up.URL, seen
}

func hiding(c gateway.Config) gateway.Config {
	c.Default.Display = routing.DisplayHide
	return c
}

// TestSlotsOfBlocks: under hide, the provider gets its own turn back from a gateway that has seen
// nothing of it, with and without tools, and the client has seen nothing of the thought. Without
// the key the copy does not reach the provider.
func TestSlotsOfBlocks(t *testing.T) {
	for i := range loopers {
		l := &loopers[i]
		for how, gateways := range restarted {
			for _, stream := range []bool{false, true} {
				for _, tools := range []bool{false, true} {
					if stream && !l.streams {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/stream=%v/tools=%v", l.name, how, stream, tools), func(t *testing.T) {
						t.Parallel()
						dir := t.TempDir()
						up, seen := watched(t, scripted.New(scripted.Options{}))
						first, then := before(t, up, hiding(gateways.first(dir))), before(t, up, hiding(gateways.then(dir)))
						form := l.first
						if !tools {
							form = withoutTools(form)
						}
						messages := l.user("Oslo?")
						_, own := post(t, up+l.path, fmt.Sprintf(form, false, messages), nil)
						want := l.said(t, own, false)
						_, body := post(t, first+l.path, fmt.Sprintf(form, stream, messages), nil)
						got := l.said(t, body, stream)
						if !strings.Contains(string(body), sealedslot.Prefix) || slices.ContainsFunc(got, func(b map[string]any) bool { text, _ := thoughtOfBlock(b); return text != "" }) {
							t.Fatalf("the client got %s", body)
						}
						sent, err := json.Marshal(map[string]any{"role": "assistant", "content": got})
						if err != nil {
							t.Fatal(err)
						}
						next := l.user("And?")
						if tools {
							next = fmt.Sprintf(l.result, callID.FindString(string(body)))
						}
						resp, body := post(t, then+l.path, fmt.Sprintf(form, stream, messages+","+string(sent)+","+next), nil)
						if strings.Contains(*seen, sealedslot.Prefix) {
							t.Fatalf("a copy reached the provider: %s", *seen)
						}
						if gateways.lost {
							if note := resp.Header.Get("Sotto-History"); resp.StatusCode == http.StatusOK && !strings.Contains(note, "foreign=") {
								t.Errorf("Sotto-History: %q", note)
							}
							return
						}
						if resp.StatusCode != http.StatusOK {
							t.Fatalf("%d %s\nthe provider got %s", resp.StatusCode, body, *seen)
						}
						l.same(t, *seen, want, false)
						byCopy := *seen
						post(t, first+l.path, fmt.Sprintf(form, stream, messages+","+string(sent)+","+next), nil)
						if *seen != byCopy {
							t.Errorf("by the ledger the provider gets\n%s\nand by the copy\n%s", *seen, byCopy)
						}
					})
				}
			}
		}
	}
}

// withoutTools is a request without its tools.
func withoutTools(form string) string {
	for _, name := range []string{`"tools":[`, `"toolConfig":{`} {
		if from := strings.Index(form, name); from >= 0 {
			to := strings.Index(form, `"messages":`)
			form = form[:from] + form[to:]
		}
	}
	return form
}

// TestSlotsOfItems: the same for the items of the Responses API, byte for byte, where the client
// keeps encrypted reasoning.
func TestSlotsOfItems(t *testing.T) {
	const asks = `"store":false,"include":["reasoning.encrypted_content"]`
	for how, gateways := range restarted {
		for _, stream := range []bool{false, true} {
			for _, keeps := range []string{asks, `"store":false`, `"include":["reasoning.encrypted_content"]`, `"store":true`} {
				t.Run(fmt.Sprintf("%s/stream=%v/%s", how, stream, keeps), func(t *testing.T) {
					t.Parallel()
					dir, got := t.TempDir(), ""
					up, seen := watched(t, itemServer(t, &got))
					first, then := before(t, up, hiding(gateways.first(dir))), before(t, up, hiding(gateways.then(dir)))
					request := func(more string) string {
						return fmt.Sprintf(`{"model":"gpt-5","stream":%v,%s,"tools":[{"type":"function","name":"get_weather"}],"input":[{"role":"user","content":"Oslo?"}%s]}`, stream, keeps, more)
					}
					_, body := post(t, first+"/v1/responses", request(""), nil)
					if strings.Contains(string(body), "Two ") {
						t.Fatalf("the client got %s", body)
					}
					more := ""
					for _, item := range outputOf(body, stream).Array() {
						more += "," + item.Raw
					}
					if sealed := strings.Contains(more, sealedslot.Prefix); sealed == (keeps == `"store":true`) {
						t.Fatalf("a copy: %v, in %s", sealed, body)
					}
					resp, _ := post(t, then+"/v1/responses", request(more+`,{"type":"function_call_output","call_id":"call_9f8E7d6C5b4A39281716xYz0","output":"4 °C"}`), nil)
					note := resp.Header.Get("Sotto-History")
					switch input := gjson.Get(*seen, "input").Array(); {
					case strings.Contains(*seen, sealedslot.Prefix):
						t.Errorf("a copy reached the provider: %s", *seen)
					case keeps == `"store":true`:
					case gateways.lost:
						if input[1].Get("type").Str != "message" || !strings.Contains(note, "foreign=1") {
							t.Errorf("%q; the provider got %s", note, *seen)
						}
					case input[1].Raw != replyItems[0]:
						t.Errorf("the provider got %s, want %s", input[1].Raw, replyItems[0])
					}
				})
			}
		}
	}
}

// outputOf returns the items of a response.
func outputOf(body []byte, stream bool) gjson.Result {
	if !stream {
		return gjson.GetBytes(body, "output")
	}
	for line := range strings.Lines(string(body)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && gjson.Get(data, "type").Str == "response.completed" {
			return gjson.Get(data, "response.output")
		}
	}
	return gjson.Result{}
}

// unsignedServer answers as llama.cpp and vLLM do in the Messages API: with a thought that nobody signs.
func unsignedServer(t *testing.T, thought string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body := readAll(t, r.Body); gjson.Get(body, "stream").Bool() {
			w.Header().Set("Content-Type", "text/event-stream")
			event := func(name, members string) {
				fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", name, name, members)
			}
			block := gjson.Parse(thought)
			event("message_start", `,"message":{"id":"msg_1","type":"message","role":"assistant","model":"vllm-model","content":[],"usage":{"input_tokens":1,"output_tokens":1}}`)
			start := strings.Replace(thought, block.Get("thinking").Raw, `""`, 1)
			event("content_block_start", `,"index":0,"content_block":`+start)
			event("content_block_delta", `,"index":0,"delta":{"type":"thinking_delta","thinking":`+block.Get("thinking").Raw+`}`)
			event("content_block_stop", `,"index":0`)
			event("content_block_start", `,"index":1,"content_block":{"type":"text","text":""}`)
			event("content_block_delta", `,"index":1,"delta":{"type":"text_delta","text":"Yes."}`)
			event("content_block_stop", `,"index":1`)
			event("message_delta", `,"delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}`)
			event("message_stop", "")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"vllm-model","content":[%s,{"type":"text","text":"Yes."}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":9}}`, thought)
	})
}

// TestSlotsOfUnsigned: a thought that its server does not sign comes back as that server sent it. A
// family that wants none back gets none, and its client gets no block for it.
func TestSlotsOfUnsigned(t *testing.T) {
	const thought = `{"type":"thinking","thinking":"Hm \"SECRET\".","signature":""}`
	for _, model := range []string{"some-model", "minimax-m2", "deepseek-r1"} {
		for _, stream := range []bool{false, true} {
			up, seen := watched(t, unsignedServer(t, thought))
			c := hiding(gateway.Config{SharedSecret: []byte("a secret of the replicas")})
			first, then := before(t, up, c), before(t, up, c)
			request := func(more string) string {
				return fmt.Sprintf(`{"model":%q,"max_tokens":99,"stream":%v,"messages":[{"role":"user","content":"Is it?"}%s]}`, model, stream, more)
			}
			_, body := post(t, first+"/v1/messages", request(""), nil)
			blocks := (&loopers[0]).said(t, body, stream)
			sent, _ := json.Marshal(blocks)
			if strings.Contains(string(sent), "SECRET") {
				t.Fatalf("the client got %s", sent)
			}
			post(t, then+"/v1/messages", request(`,{"role":"assistant","content":`+string(sent)+`},{"role":"user","content":"Sure?"}`), nil)
			got := gjson.Get(*seen, "messages.1.content.0").Raw
			if wants := model != "deepseek-r1"; wants && got != thought || !wants && (len(blocks) != 1 || strings.Contains(*seen, "SECRET")) {
				t.Errorf("%s, stream=%v: the server got %s", model, stream, *seen)
			}
		}
	}
}

// TestSlotsOfOthers: a copy of another caller, upstream, model or API, and one that is damaged, is
// left out, whatever it is in.
func TestSlotsOfOthers(t *testing.T) {
	l := &loopers[0]
	up, seen := watched(t, scripted.New(scripted.Options{}))
	other, seenByOther := watched(t, unsignedServer(t, `{"type":"thinking","thinking":"Hm.","signature":""}`))
	at := func(address string) string {
		return before(t, address, hiding(gateway.Config{SharedSecret: []byte("a secret of the replicas")}))
	}
	form := strings.Replace(withoutTools(l.first), `"claude"`, "%q", 1)
	ask := func(base, model, key, more string) (*http.Response, []byte) {
		return post(t, base+l.path, fmt.Sprintf(form, model, false, l.user("Oslo?")+more), http.Header{"X-Api-Key": {key}})
	}
	_, body := ask(at(up), "claude", "alice", "")
	copied := gjson.GetBytes(body, "content.0.signature").Str
	thinking := fmt.Sprintf(`{"type":"thinking","thinking":"","signature":%q}`, copied)
	turn := func(role, block string) string {
		return `,{"role":"` + role + `","content":[` + block + `,{"type":"text","text":"Cold."}]},` + l.user("And?")
	}
	own := turn("assistant", thinking)
	if resp, body := ask(at(up), "claude", "alice", own); resp.StatusCode != http.StatusOK || strings.Contains(resp.Header.Get("Sotto-History"), "foreign") || gjson.Get(*seen, "messages.1.content.0.thinking").Str == "" {
		t.Fatalf("%d %s %s\nthe provider got %s", resp.StatusCode, body, resp.Header, *seen)
	}
	changed := func(to string) string { return turn("assistant", strings.Replace(thinking, copied, to, 1)) }
	for what, c := range map[string]struct{ at, model, key, more string }{
		"another caller":   {up, "claude", "bob", own},
		"another model":    {up, "claude-sonnet-5", "alice", own},
		"another upstream": {other, "claude", "alice", own},
		"damaged":          {up, "claude", "alice", changed(copied[:len(copied)-9] + "AAAA" + copied[len(copied)-5:])},
		"cut":              {up, "claude", "alice", changed(copied[:40])},
		"nothing":          {up, "claude", "alice", changed(sealedslot.Prefix)},
		"escaped":          {up, "claude", "alice", changed(`\u0073` + copied[1:100])},
		"of a person":      {up, "claude", "alice", turn("user", thinking)},
		"redacted":         {up, "claude", "alice", turn("assistant", fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, copied[:60]))},
		"alone":            {up, "claude", "bob", `,{"role":"assistant","content":[` + thinking + `]},` + l.user("And?")},
	} {
		resp, body := ask(at(c.at), c.model, c.key, c.more)
		got := *seen
		if c.at == other {
			got = *seenByOther
		}
		if strings.Contains(got, "ottoSealed") || strings.Contains(got, `"content":[]`) || strings.Contains(got, `"thinking":"`) || !strings.Contains(resp.Header.Get("Sotto-History"), "foreign=1") {
			t.Errorf("%s: %d %q %s\nthe provider got %s", what, resp.StatusCode, resp.Header.Get("Sotto-History"), body, got)
		}
	}
	converse := &loopers[1]
	more := fmt.Sprintf(`,{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"","signature":%q}}},{"text":"Cold."}]},`, copied) + converse.user("And?")
	resp, _ := post(t, at(up)+converse.path, fmt.Sprintf(withoutTools(converse.first), false, converse.user("Oslo?")+more), http.Header{"X-Api-Key": {"alice"}})
	if strings.Contains(*seen, "ottoSealed") || !strings.Contains(resp.Header.Get("Sotto-History"), "foreign=1") {
		t.Errorf("another API: %q\nthe provider got %s", resp.Header.Get("Sotto-History"), *seen)
	}
}

// TestSlotOfConverseStream: the copy of a streamed block opens as that of a whole one.
func TestSlotOfConverseStream(t *testing.T) {
	const block = `{"reasoningContent":{"reasoningText":{"text":"I add.","signature":"c2ln"}}}`
	stream := bedrockOpen + bedrockDelta("0", `{"reasoningContent":{"text":"I "}}`) + bedrockDelta("0", `{"reasoningContent":{"text":"add."}}`) +
		bedrockDelta("0", `{"reasoningContent":{"signature":"c2"}}`) + bedrockDelta("0", `{"reasoningContent":{"signature":"ln"}}`) + named("contentBlockStop", `{"contentBlockIndex":0}`) +
		bedrockDelta("1", `{"text":"It is 4."}`) + named("contentBlockStop", `{"contentBlockIndex":1}`) + bedrockEnd("end_turn")
	c := hiding(gateway.Config{SharedSecret: []byte("a secret of the replicas")})
	out := ask(handler(t, c, answering(upstreamSends("text/event-stream", stream))), bedrockPath, bedrockStreams).Body.String()
	if got := sealedCopy.ReplaceAllString(bedrockBlocks(t, out), "COPY"); got != "signature=COPY | text=It is 4." {
		t.Fatalf("%s\n%s", got, out)
	}
	got := ""
	then := handler(t, c, answering(func(r *http.Request) *http.Response {
		got = readAll(t, r.Body)
		return response("application/json", strings.NewReader(bedrockBody(`{"text":"Yes."}`, "end_turn")))
	}))
	ask(then, bedrockPath, `{"messages":[{"role":"user","content":[{"text":"2+2?"}]},{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"","signature":"`+sealedCopy.FindString(out)+`"}}},{"text":"It is 4."}]},{"role":"user","content":[{"text":"Sure?"}]}]}`)
	if was := gjson.Get(got, "messages.1.content.0").Raw; was != block {
		t.Errorf("the provider got %s", got)
	}
}

// TestSlotOfUnsignedItem: an item that its server does not encrypt, such as one of gpt-oss, is there for
// a client that keeps encrypted reasoning, and goes back as it was. Other clients do not see it.
func TestSlotOfUnsignedItem(t *testing.T) {
	const item = `{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"SECRET"}],"status":"completed"}`
	const said = `{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Yes.","annotations":[]}]}`
	c := hiding(gateway.Config{SharedSecret: []byte("a secret of the replicas")})
	got := ""
	up := answering(func(r *http.Request) *http.Response {
		got = readAll(t, r.Body)
		return response("application/json", strings.NewReader(`{"id":"resp_1","object":"response","status":"completed","model":"gpt-oss","output":[`+item+","+said+`]}`))
	})
	request := func(more, store string) string {
		return `{"model":"gpt-oss-20b","store":` + store + `,"input":[{"role":"user","content":"Is it?"}` + more + `]}`
	}
	first, then := handler(t, c, up), handler(t, c, up)
	if body := ask(first, "/v1/responses", request("", "true")).Body.String(); len(gjson.Get(body, "output").Array()) != 1 || strings.Contains(body, "SECRET") {
		t.Errorf("a client that keeps nothing got %s", body)
	}
	body := ask(first, "/v1/responses", request("", "false")).Body.String()
	items := gjson.Get(body, "output").Array()
	if len(items) != 2 || !sealedCopy.MatchString(items[0].Get("encrypted_content").Str) || strings.Contains(body, "SECRET") {
		t.Fatalf("the client got %s", body)
	}
	ask(then, "/v1/responses", request(","+items[0].Raw+","+items[1].Raw+`,{"role":"user","content":"Sure?"}`, "false"))
	if was := gjson.Get(got, "input.1").Raw; was != item {
		t.Errorf("the server got %s", got)
	}
}

// TestSlotOfLargeBlock: of a block that is too large there is no copy, and the client gets the provider's
// own signature.
func TestSlotOfLargeBlock(t *testing.T) {
	for _, size := range []int{sealedslot.Most - 100, sealedslot.Most} {
		thought := `{"type":"thinking","thinking":"` + strings.Repeat("x", size) + `","signature":"c2ln"}`
		up, _ := watched(t, unsignedServer(t, thought))
		_, body := post(t, before(t, up, hiding(gateway.Config{}))+"/v1/messages", `{"model":"some-model","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, nil)
		got := gjson.GetBytes(body, "content.0.signature").Str
		if large := size == sealedslot.Most; large != (got == "c2ln") || large == strings.HasPrefix(got, sealedslot.Prefix) {
			t.Errorf("%d bytes: %.40s", size, got)
		}
	}
}

// TestNoSlot: where the client gets the provider's own block, or where the provider would refuse the block,
// there is no copy.
func TestNoSlot(t *testing.T) {
	for thought, want := range map[string]string{
		`{"type":"thinking","thinking":"","signature":"c2ln"}`: "c2ln", // the provider leaves the text out
		`{"type":"thinking","thinking":"Hm","signature":""}`:   "",     // a limit has cut it
	} {
		up, _ := watched(t, unsignedServer(t, thought))
		_, body := post(t, before(t, up, hiding(gateway.Config{}))+"/v1/messages", `{"model":"claude","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, nil)
		if got := gjson.GetBytes(body, "content.0.signature").Str; got != want || strings.Contains(string(body), sealedslot.Prefix) {
			t.Errorf("%s: the client got %s", thought, body)
		}
	}
}
