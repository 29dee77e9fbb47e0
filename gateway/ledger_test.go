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
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// A looper is a client of an API that runs tools, against a server that checks what it signed.
type looper struct {
	name, path, list, content string
	first, result             string // the request, and the message with a tool's result
	streams                   bool
}

var loopers = []looper{
	{
		name: "messages", path: "/v1/messages", list: "messages", content: "content", streams: true,
		first:  `{"model":"claude","max_tokens":4000,"stream":%v,"thinking":{"type":"enabled","budget_tokens":2000},"tools":[{"name":"get_weather","input_schema":{"type":"object"}}],"messages":[%s]}`,
		result: `{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":"4 °C"}]}`,
	},
	{
		name: "converse", path: "/model/claude/converse", list: "messages", content: "output.message.content",
		first:  `{"inferenceConfig":{"maxTokens":4000},"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":2000},"x":"%v"},"toolConfig":{"tools":[{"toolSpec":{"name":"get_weather","inputSchema":{"json":{"type":"object"}}}}]},"messages":[%s]}`,
		result: `{"role":"user","content":[{"toolResult":{"toolUseId":%q,"content":[{"text":"4 °C"}]}}]}`,
	},
}

func (l *looper) user(text string) string {
	if l.name == "converse" {
		return fmt.Sprintf(`{"role":"user","content":[{"text":%q}]}`, text)
	}
	return fmt.Sprintf(`{"role":"user","content":%q}`, text)
}

// said returns the blocks of a reply, as a client assembles them.
func (l *looper) said(t *testing.T, body []byte, stream bool) []map[string]any {
	t.Helper()
	var blocks []map[string]any
	if !stream {
		if err := json.Unmarshal([]byte(gjson.GetBytes(body, l.content).Raw), &blocks); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		return blocks
	}
	for line := range strings.Lines(string(body)) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		e := gjson.Parse(data)
		i := int(e.Get("index").Int())
		switch e.Get("type").Str {
		case "content_block_start":
			block, _ := e.Get("content_block").Value().(map[string]any)
			if i != len(blocks) {
				t.Fatalf("block %d of %d", i, len(blocks))
			}
			blocks = append(blocks, block)
		case "content_block_delta":
			d := e.Get("delta")
			for _, name := range []string{"thinking", "text", "signature"} {
				if v := d.Get(name); v.Exists() {
					was, _ := blocks[i][name].(string)
					blocks[i][name] = was + v.Str
				}
			}
			if v := d.Get("partial_json"); v.Exists() {
				was, _ := blocks[i]["json"].(string)
				blocks[i]["json"] = was + v.Str
			}
		}
	}
	for _, b := range blocks {
		if input, ok := b["json"].(string); ok {
			delete(b, "json")
			var v any
			_ = json.Unmarshal([]byte(input), &v)
			b["input"] = v
		}
	}
	return blocks
}

// thoughtOfBlock returns the thought of a block, and whether it is one.
func thoughtOfBlock(b map[string]any) (text string, is bool) {
	if inner, ok := b["reasoningContent"].(map[string]any); ok {
		of, _ := inner["reasoningText"].(map[string]any)
		text, _ = of["text"].(string)
		return text, true
	}
	kind, _ := b["type"].(string)
	text, _ = b["thinking"].(string)
	return text, kind == "thinking" || kind == "redacted_thinking"
}

// editedText is what a person makes of the answer.
const editedText = "Have a look"

// treatments are what clients do with the blocks of a reply before they send them back.
var treatments = map[string]func(l *looper, blocks []map[string]any) []map[string]any{
	"echoed": func(_ *looper, blocks []map[string]any) []map[string]any { return blocks },
	"dropped": func(_ *looper, blocks []map[string]any) []map[string]any {
		return slices.DeleteFunc(blocks, func(b map[string]any) bool { _, is := thoughtOfBlock(b); return is })
	},
	"as text": func(l *looper, blocks []map[string]any) (list []map[string]any) {
		for _, b := range blocks {
			text, is := thoughtOfBlock(b)
			switch {
			case !is:
				list = append(list, b)
			case text != "" && l.name == "converse":
				list = append(list, map[string]any{"text": text})
			case text != "":
				list = append(list, map[string]any{"type": "text", "text": text})
			}
		}
		return list
	},
	"emptied": func(_ *looper, blocks []map[string]any) []map[string]any {
		for _, b := range blocks {
			if _, ok := b["thinking"]; ok {
				b["thinking"] = ""
			}
			if inner, ok := b["reasoningContent"].(map[string]any); ok {
				if of, ok := inner["reasoningText"].(map[string]any); ok {
					of["text"] = ""
				}
			}
		}
		return blocks
	},
	"edited": func(_ *looper, blocks []map[string]any) []map[string]any {
		for _, b := range blocks {
			if text, ok := b["text"].(string); ok && !strings.Contains(text, "think>") {
				b["text"] = strings.ReplaceAll(text, "Let me check", editedText)
			}
		}
		return blocks
	},
	"with a mark for the cache": func(l *looper, blocks []map[string]any) []map[string]any {
		if l.name != "converse" {
			blocks[len(blocks)-1]["cache_control"] = map[string]any{"type": "ephemeral"}
		}
		return blocks
	},
}

// TestSignedLoop: whatever the display, and whatever a client does with the thoughts of a reply, the
// provider gets its own turn back, in the tool loop and in the turns after it.
func TestSignedLoop(t *testing.T) {
	for i := range loopers {
		l := &loopers[i]
		want := l.direct(t)
		for _, display := range []routing.Display{routing.DisplayField, routing.DisplayHide, routing.DisplayTags, routing.DisplayKeep} {
			for how, treat := range treatments {
				if how == "edited" && display == routing.DisplayTags {
					continue // a person would edit the thought as well
				}
				for _, stream := range []bool{false, true} {
					if stream && !l.streams {
						continue
					}
					if effort.Brief() && how == "with a mark for the cache" && display != routing.DisplayHide {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/stream=%v", l.name, display, how, stream), func(t *testing.T) {
						t.Parallel()
						l.loop(t, display, stream, treat, want)
					})
				}
			}
		}
	}
}

// direct returns the blocks by which the provider itself answers.
func (l *looper) direct(t *testing.T) []map[string]any {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, l.path, strings.NewReader(fmt.Sprintf(l.first, false, l.user("Oslo?"))))
	scripted.New(scripted.Options{}).ServeHTTP(w, r)
	blocks := l.said(t, w.Body.Bytes(), false)
	if len(blocks) < 3 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return blocks
}

func (l *looper) loop(t *testing.T, display routing.Display, stream bool, treat func(*looper, []map[string]any) []map[string]any, want []map[string]any) {
	var seen string
	upstream := scripted.New(scripted.Options{})
	base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = readAll(t, r.Body)
		r.Body = io.NopCloser(bytes.NewReader([]byte(seen)))
		upstream.ServeHTTP(w, r)
	}), gateway.Config{Default: routing.Route{Display: display, History: history.Auto}})
	messages := l.user("Oslo?")
	resp, body := post(t, base+l.path, fmt.Sprintf(l.first, stream, messages), nil)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	id := callID.FindString(string(body))
	if id == "" {
		t.Fatalf("no call in %s", body)
	}
	sent, err := json.Marshal(map[string]any{"role": "assistant", "content": treat(l, l.said(t, body, stream))})
	if err != nil {
		t.Fatal(err)
	}
	messages += "," + string(sent) + "," + fmt.Sprintf(l.result, id)
	resp, body = post(t, base+l.path, fmt.Sprintf(l.first, stream, messages), nil)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("the provider refused its turn: %d %s\nit got %s", resp.StatusCode, body, seen)
	}
	l.same(t, seen, want, strings.Contains(string(sent), editedText))
	again, err := json.Marshal(map[string]any{"role": "assistant", "content": treat(l, l.said(t, body, stream))})
	if err != nil {
		t.Fatal(err)
	}
	messages += "," + string(again) + "," + l.user("Thanks.")
	if resp, body = post(t, base+l.path, fmt.Sprintf(l.first, stream, messages), nil); resp.StatusCode != http.StatusOK {
		t.Fatalf("the provider refused the next turn: %d %s\nit got %s", resp.StatusCode, body, seen)
	}
	for i, m := range gjson.Get(seen, "messages").Array() {
		for _, b := range m.Get("content").Array() {
			if text := b.Get("text").Str; strings.Contains(text, "says the tool") || strings.Contains(text, "I call it") {
				t.Errorf("message %d: a thought became speech: %s", i, m.Raw)
			}
		}
	}
}

// same compares the blocks of the first reply that the provider gets back with those that it sent.
func (l *looper) same(t *testing.T, seen string, want []map[string]any, edited bool) {
	t.Helper()
	var got []map[string]any
	if err := json.Unmarshal([]byte(gjson.Get(seen, l.list+".1.content").Raw), &got); err != nil {
		t.Fatal(err)
	}
	for _, b := range got {
		delete(b, "cache_control") // the client's own
	}
	is := withoutIDs(got)
	if was := withoutIDs(want); was != strings.ReplaceAll(is, editedText, "Let me check") || edited != strings.Contains(is, editedText) {
		t.Errorf("the provider got\n%s\nwant\n%s", is, was)
	}
}

func withoutIDs(v any) string {
	b, _ := json.Marshal(v)
	return callID.ReplaceAllString(string(b), "ID")
}

var callID = regexp.MustCompile(`(?:toolu|tooluse)_[0-9a-f]{22,24}`)
