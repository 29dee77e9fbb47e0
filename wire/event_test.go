package wire_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/gemini"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// A finder writes down what a codec finds, a line each.
type finder struct{ list []string }

func (l *finder) Found(f wire.Event) []wire.Part {
	kind := []string{"text", "thought", "details", "sealed", "call", "usage", "finish", "fault", "model", "refusal", "other", "end"}[f.Kind]
	line := fmt.Sprintf("%s %d/%d", kind, f.Choice, f.Index)
	for _, s := range []string{f.ID, f.Name, string(f.Text)} {
		if s != "" {
			line += " " + s
		}
	}
	for i, set := range []bool{f.Again, f.Member, f.Whole} {
		if set {
			line += []string{" again", " member", " whole"}[i]
		}
	}
	switch f.Kind {
	case wire.EventUsage:
		line = fmt.Sprint("usage ", f.Usage)
	case wire.EventFinish:
		line += fmt.Sprint(" ", f.End)
	case wire.EventEnd:
		line = "end"
	case wire.EventModel:
		line = "model " + f.Name
	}
	l.list = append(l.list, line)
	if f.Kind == wire.EventText {
		return []wire.Part{{Text: f.Text}}
	}
	return []wire.Part{{Place: wire.Reasoning, Text: f.Text}}
}

func (l *finder) Close(int, sotto.Ending) []wire.Part    { return nil }
func (l *finder) Open() []int                            { return nil }
func (l *finder) Fail(err error)                         { l.list = append(l.list, "fails") }
func (*finder) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (*finder) Findings() string                         { return "" }
func (l *finder) Share() (reasoning, all int)            { return 0, 0 }

// A codec reports everything that a frame brings, once, in the order of the reply:
// nobody else needs to parse it. What it reports does not depend on how the client
// wants the reply, and most frames take the way that parses nothing.
func TestFound(t *testing.T) {
	for _, test := range []struct {
		name   string
		codec  wire.Codec
		frames []string
		want   string
	}{
		{"chat", openai.Chat, []string{
			`{"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`,
			`{"choices":[{"index":0,"delta":{"reasoning_content":"r1"}}]}`,
			`{"choices":[{"index":0,"delta":{"reasoning_content":"r2"}}]}`,
			`{"choices":[{"index":0,"delta":{"reasoning":"same","reasoning_content":"same"}}]}`,
			`{"choices":[{"index":0,"delta":{"reasoning_details":[{"text":"d","signature":"s"}]}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"a1"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"a2"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"p"}]},{"type":"text","text":"a3"}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":""}},{"index":1,"id":"c2","function":{"name":"g","arguments":"{}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`,
			`{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":2}}}`,
			`[DONE]`,
		}, `model m|text 0/0|thought 0/0 reasoning_content r1 member|thought 0/0 reasoning_content r2 member|
			thought 0/0 reasoning same again member|thought 0/0 reasoning_content same member|details 0/0 reasoning_details d member|
			text 0/0 a1|text 0/0 a2|thought 0/0 thinking p|text 0/0 a3|call 0/0 c1 f|call 0/1 c2 g {}|call 0/0 {"x":1}|
			finish 0/0 length cut|usage {3 9 -1 2 -1 false false}|end`},
		{"frames that are alike", openai.Chat, []string{
			`{"choices":[{"index":0,"delta":{"content":"","tool_calls":[{"index":0,"id":"c1","function":{"name":"f","arguments":"ha"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"","tool_calls":[{"index":0,"function":{"arguments":"ha"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"","tool_calls":[{"index":0,"function":{"arguments":"ha"}}]}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"","refusal":"no"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"","refusal":"no"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"","reasoning_details":[{"data":"x"}]}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"","reasoning_details":[{"data":"x"}]}}]}`,
		}, `text 0/0|call 0/0 c1 f ha|text 0/0|call 0/0 ha|text 0/0|call 0/0 ha|text 0/0|refusal 0/0 no|text 0/0|refusal 0/0 no|
			details 0/0 reasoning_details member|text 0/0|details 0/0 reasoning_details member|text 0/0`},
		{"another fault", openai.Chat, []string{`{"object":"error","message":"m","type":"overloaded"}`}, `fault 0/0|fails`},
		{"a fault", openai.Chat, []string{`{"error":{"type":"overloaded","message":"m"}}`}, `fault 0/0|fails`},
		{"completions", openai.Completions, []string{
			`{"choices":[{"index":0,"text":"a"}]}`, `{"choices":[{"index":0,"text":"b"}]}`, `{"choices":[{"index":0,"text":"","finish_reason":"stop"}]}`,
		}, `text 0/0 a|text 0/0 b|text 0/0|finish 0/0 stop stopped`},
		{"ollama", ollama.Chat, []string{
			`{"model":"m","message":{"role":"assistant","content":"","thinking":"r"},"done":false}`,
			`{"model":"m","message":{"role":"assistant","content":"","thinking":"s"},"done":false}`,
			`{"model":"m","message":{"role":"assistant","content":"a","tool_calls":[{"function":{"name":"f","arguments":{"x":1}}},{"function":{"name":"f","arguments":{}}}]},"done":false}`,
			`{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":4}`,
		}, `model m|thought 0/0 thinking r member|text 0/0|thought 0/0 thinking s member|text 0/0|text 0/0 a|call 0/0 f {"x":1}|call 0/1 f {}|text 0/0|
			usage {3 4 -1 -1 -1 false false}|finish 0/0 stop stopped|end`},
		{"anthropic", anthropic.Messages, []string{
			`{"type":"message_start","message":{"model":"m","usage":{"input_tokens":3,"cache_read_input_tokens":5,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"r"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"s"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"x"}}`,
			`{"type":"content_block_stop","index":1}`,
			`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"a"}}`,
			`{"type":"content_block_stop","index":2}`,
			`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"c","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}`,
			`{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
			`{"type":"content_block_stop","index":3}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`,
			`{"type":"message_stop"}`,
		}, `model m|usage {3 1 -1 5 -1 true false}|thought 0/1 thinking|sealed 0/1 signature|thought 0/1 thinking r|thought 0/1 thinking s|sealed 0/1 signature sig|sealed 0/2 redacted_thinking x|
			text 0/3 a|call 1/4 c f|call 1/4 {"x":|call 1/4 1}|usage {-1 9 -1 -1 -1 true false}|finish 1/0 tool_use stopped|end`},
		{"gemini", gemini.GenerateContent, []string{
			`{"candidates":[{"content":{"parts":[{"text":"r","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":3,"thoughtsTokenCount":2},"modelVersion":"m","responseId":"x"}`,
			`{"candidates":[{"content":{"parts":[{"text":"s","thought":true,"thoughtSignature":"sig"}],"role":"model"},"index":0}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"b"},{"functionCall":{"name":"f","args":{"x":1}},"thoughtSignature":"s2"},{"functionCall":{"name":"g","args":{}}},{"inlineData":{"mimeType":"image/png","data":"eA=="}}]}}]}`,
			`{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"s3"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3,"cachedContentTokenCount":1,"candidatesTokenCount":7,"thoughtsTokenCount":2}}`,
		}, `model m|thought 0/1 thought r|usage {3 2 2 -1 -1 false false}|thought 0/1 thought s|sealed 0/1 thoughtSignature sig|text 0/2 a|text 0/2 b|call 0/3 f {"x":1}|call 0/4 g {}|
			other 0/0 inlineData|text 0/4|sealed 0/4 thoughtSignature s3|finish 0/0 STOP stopped|usage {3 9 2 1 -1 false false}`},
		{"gemini, a blocked prompt", gemini.GenerateContent, []string{`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":3}}`},
			`refusal 0/0|finish 0/0 SAFETY aborted|usage {3 -1 -1 -1 -1 false false}`},
		{"a refusal", responses.Codec, []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"m","type":"message","content":[]}}`,
			`{"type":"response.content_part.added","item_id":"m","output_index":0,"content_index":0,"part":{"type":"refusal","refusal":""}}`,
			`{"type":"response.refusal.delta","item_id":"m","output_index":0,"content_index":0,"delta":"n"}`,
			`{"type":"response.refusal.delta","item_id":"m","output_index":0,"content_index":0,"delta":"o"}`,
			`{"type":"response.refusal.done","item_id":"m","output_index":0,"content_index":0,"refusal":"no"}`,
			`{"type":"response.content_part.done","item_id":"m","output_index":0,"content_index":0,"part":{"type":"refusal","refusal":"no"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"m","type":"message","content":[{"type":"refusal","refusal":"no"}]}}`,
		}, `refusal 0/0|refusal 0/0 n|refusal 0/0 o`},
		{"responses", responses.Codec, []string{
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"r","type":"reasoning","summary":[]}}`,
			`{"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":0,"summary_index":0,"delta":"s"}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"id":"r","type":"reasoning","summary":[{"type":"summary_text","text":"s"}],"encrypted_content":"x"}}`,
			`{"type":"response.output_item.added","output_index":1,"item":{"id":"c","type":"function_call","call_id":"c1","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","item_id":"c","output_index":1,"delta":"{}"}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"id":"c","type":"function_call","call_id":"c1","name":"f","arguments":"{}"}}`,
			`{"type":"response.completed","response":{"model":"m","status":"completed","output":[],"usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":1},"output_tokens":4,"output_tokens_details":{"reasoning_tokens":2}}}}`,
		}, `thought 0/0 summary s|thought 0/0 summary s again whole|sealed 0/0 encrypted_content x again whole|call 0/1 c1 f|call 0/1 {}|call 0/1 c1 f {} whole|
			model m|usage {3 4 2 1 -1 false false}|finish 0/0 completed stopped|end`},
	} {
		want := strings.Split(strings.NewReplacer("\n", "", "\t", "").Replace(test.want), "|")
		for _, set := range []wire.Settings{{}, {Hide: true}, {Keep: true}} {
			l, y := &finder{}, test.codec.Reply(set)
			for _, data := range test.frames {
				f := wire.Frame{Raw: []byte("data: " + data + "\n\n"), Data: []byte(data), At: 6}
				if test.codec.Framing() == wire.NDJSON {
					f = wire.Frame{Raw: []byte(data + "\n"), Data: []byte(data)}
				}
				y.Frame(nil, f, l)
			}
			if !slices.Equal(l.list, want) {
				t.Errorf("%s, %+v:\ngot  %s\nwant %s", test.name, set, strings.Join(l.list, "|"), strings.Join(want, "|"))
			}
		}
	}
}
