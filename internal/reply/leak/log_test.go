package leak

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// A sink takes replies only.
type sink func(Reply)

func (s sink) Reply(r Reply) { s(r) }
func (s sink) Unread(x Texts) {
	if !x.Answered && len(x.Named) > 0 {
		s(Reply{Model: x.Model, Route: x.Route})
	}
}

// TestRecord: the replies of logs in the usual shapes, and first those that do not
// leak: what users say, code, and reasoning in its place.
func TestRecord(t *testing.T) {
	const thought = "The user wants to know how many primes lie between 20 and 40, so I count them."
	for _, c := range []struct {
		name, record string
		want         []string // of each reply: model, route, leaks
	}{
		{"a user's tag", `{"messages":[{"role":"user","content":"<think>what is this?</think>"},{"role":"assistant","content":"A tag."}]}`, []string{"||"}},
		{"a system prompt", `{"messages":[{"role":"system","content":"<think>Think here.</think>"}]}`, nil},
		{"code", "{\"messages\":[{\"role\":\"assistant\",\"content\":\"Write `<think>` or:\\n```\\n<think>\\na thought\\n</think>\\n```\\n\"}]}", []string{"||"}},
		{"reasoning on its field", `{"model":"m","choices":[{"message":{"role":"assistant","content":"Four.","reasoning_content":"` + thought + `"}}]}`, []string{"m||"}},
		{"a thinking block", `{"model":"c","role":"assistant","content":[{"type":"thinking","thinking":"` + thought + `"},{"type":"text","text":"Four."}]}`, []string{"c||"}},
		{"a file as an argument", `{"role":"assistant","tool_calls":[{"function":{"name":"write","arguments":"{\"text\":\"import re\\nre.sub(r'<think>.*?</think>', '', s)\\n<think>x y z</think>\"}"}}]}`, []string{"||"}},
		{"a page as a result", `{"role":"tool","content":"# Docs\n\n<think>Models write this.</think>\n"}`, []string{"||"}},
		{"a history in a request", `{"request":{"model":"m","messages":[{"role":"assistant","content":"<think>old thought, counted before</think>"}]},"response":{"choices":[{"message":{"content":"Four."}}]}}`, []string{"m||"}},
		{"no reply", `{"level":"info","msg":"started"}`, nil},
		{"a question", `{"question":"<think>what is this?</think>","n":1}`, nil},
		{"a title about tags", `{"title":"The <think> tag in Qwen"}`, nil},

		{"a conversation", `{"model":"q","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"<think>a b c</think>d"},{"role":"assistant","content":"` + thought + `\n</think>\n\nFour."}]}`, []string{"q||answer block", "q||answer close"}},
		{"ShareGPT", `{"conversations":[{"from":"human","value":"x"},{"from":"gpt","value":"<think>a b c</think>d"}]}`, []string{"||answer block"}},
		{"a ChatGPT export", `{"mapping":{"x":{"message":{"author":{"role":"assistant"},"content":{"parts":["<think>a b c</think>d"]}}}}}`, []string{"||answer block"}},
		{"request and response", `{"path":"/v1/chat/completions","request":{"model":"m"},"response":{"choices":[{"finish_reason":"length","message":{"content":"<think>a b"}}]}}`, []string{"m|/v1/chat/completions|answer unclosed"}},
		{"a response as text", `{"model":"m","response":"{\"choices\":[{\"message\":{\"content\":\"<think>a b</think>c\"}}]}"}`, []string{"m||answer block"}},
		{"a stream as text", `{"response":"data: {\"choices\":[{\"delta\":{\"content\":\"<thi\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"nk>a b</think>c\"}}]}\n\ndata: [DONE]\n\n"}`, []string{"||answer block"}},
		{"a stream of Anthropic", `{"response":"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"<think>a b</think>c\"}}\n\n"}`, []string{"||answer block"}},
		{"Ollama", `{"model":"o","response":"<think>a b</think>c","done":true}`, []string{"o||answer block"}},
		{"Ollama's chat", `{"model":"o","message":{"role":"assistant","content":"<think>a b</think>c"},"done":true}`, []string{"o||answer block"}},
		{"responses", `{"model":"r","output":[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"<think>a b</think>c"}]}]}`, []string{"r||answer block"}},
		{"Gemini", `{"candidates":[{"content":{"role":"model","parts":[{"text":"t","thought":true},{"text":"<think>a b</think>c"}]}}]}`, []string{"||answer block"}},
		{"a batch", `{"custom_id":"1","response":{"body":{"model":"b","choices":[{"message":{"content":"<think>a b</think>c"}}]}}}`, []string{"b||answer block"}},
		{"a row", `{"id":"1","model":"q","raw":"<think>a b</think>c"}`, []string{"q||answer block"}},
		{"repeated", `{"role":"assistant","content":"` + thought + ` Four.","reasoning_content":"` + thought + `"}`, []string{"||answer repeated"}},
		{"a title", `{"title":"<think>\nA short title.\n</think>\nPrimes","chat":{"history":{"messages":{}}}}`, []string{"||title block"}},
		{"arguments", `{"role":"assistant","tool_calls":[{"function":{"arguments":"{\"city\":\"<think>Oslo it is.</think>Oslo\"}"}}]}`, []string{"||tool arguments block"}},
		{"a result", `{"role":"tool","content":"<think>I am a subagent.</think>Four."}`, []string{"||tool result block"}},
		{"empty", `{"role":"assistant","content":"<think>\n\n</think>\n\nFour."}`, []string{"||answer empty"}},
	} {
		var got []string
		Shipped().Record(gjson.Parse(c.record), sink(func(r Reply) {
			var leaks []string
			for _, l := range r.Leaks {
				leaks = append(leaks, fmt.Sprintf("%s %s", l.Where, l.Kind))
			}
			got = append(got, r.Model+"|"+r.Route+"|"+strings.Join(leaks, ", "))
		}))
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestTranscript: plain text is one reply, or what the model says in a conversation.
func TestTranscript(t *testing.T) {
	for text, want := range map[string]int{
		"<think>a b</think>c": 1, "Four.": 0, "User: <think>a b</think>\nAssistant: It is a tag.\n": 0,
		"### User: x\n### Assistant: <think>a b</think>\nc\nUser: y\nAssistant:\nthoughts and\n</think>\nd": 2,
		"**Human**: x\n**AI**: <think>a b c": 1,
	} {
		leaks := 0
		Shipped().Whole([]byte(text), sink(func(r Reply) { leaks += len(r.Leaks) }))
		if leaks != want {
			t.Errorf("%q: %d leaks, want %d", text, leaks, want)
		}
	}
}

// TestRecordBounds: a record that is deep, or has many values, ends.
func TestRecordBounds(t *testing.T) {
	deep := strings.Repeat(`{"response":`, 900) + `1` + strings.Repeat("}", 900)
	nested := `"x"`
	for range 6 {
		nested = fmt.Sprintf("%q", `{"response":`+nested+`}`)
	}
	for _, record := range []string{deep, `{"response":` + nested + `}`, `[` + strings.Repeat(`{"role":"assistant"},`, 200_000) + `{}]`} {
		n := 0
		Shipped().Record(gjson.Parse(record), sink(func(Reply) { n++ }))
		if n > maxValues {
			t.Errorf("%d replies in %.40s", n, record)
		}
	}
}

// leakyRecords notes whether a record leaks.
type leakyRecords struct{ leaks bool }

func (l *leakyRecords) Reply(r Reply) { l.leaks = l.leaks || len(r.Leaks) > 0 }
func (*leakyRecords) Unread(Texts)    {}

// TestMayLeak: no record that leaks is ruled out, however its JSON is written; and ordinary
// records are, although they speak of thinking or have escapes.
func TestMayLeak(t *testing.T) {
	f := Shipped()
	long := strings.Repeat("so it is a thought that is long enough, ", 3)
	for _, record := range []string{
		`{"reply":"So it is.<\/think>\nFour."}`,
		`{"reply":"\u003cthink\n\u003eThe user wants primes.\u003c\/think\u003e Four."}`,
		`{"response":"{\"choices\":[{\"message\":{\"content\":\"\\u003cthink\\u003eThe user wants it.\\u003c/think\\u003eFour.\"}}]}"}`,
		`{"reply":"◁think▷The user wants primes.◁\/think▷Four."}`, `{"reply":"\u25c1think\u25b7The user wants primes.\u25c1/think\u25b7Four."}`,
		`{"role":"assistant","reasoning_content":"` + long + `","content":"` + long + `"}`,
		`{"response":"data: {\"choices\":[{\"delta\":{\"content\":\"<thi\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"nk>The user wants primes.</thi\"}}]}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"nk>Four.\"}}]}\n\n"}`,
	} {
		v, err := foreignjson.Parse([]byte(record))
		if err != nil {
			t.Fatal(err)
		}
		var l leakyRecords
		if f.Record(v, &l); !l.leaks || !f.MayLeak([]byte(record)) {
			t.Errorf("%s: leaks %v, may leak %v", record, l.leaks, f.MayLeak([]byte(record)))
		}
	}
	for _, record := range []string{
		`{"reply":"The reasoning: I was thinking of a thought, \u003cb\u003eboldly\u003c/b\u003e.","usage":{"reasoning_tokens":3}}`,
		`{"reply":"\u4f60\u597d <\/p> C:\\users [1] ... \u2013 a < b"}`,
	} {
		if f.MayLeak([]byte(record)) {
			t.Errorf("not ruled out: %s", record)
		}
	}
}
