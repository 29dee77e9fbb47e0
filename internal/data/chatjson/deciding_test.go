package chatjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/anthropic"
	"github.com/sotto-llm/sotto/wire/bedrock"
	"github.com/sotto-llm/sotto/wire/cohere"
	"github.com/sotto-llm/sotto/wire/gemini"
	"github.com/sotto-llm/sotto/wire/llamacpp"
	"github.com/sotto-llm/sotto/wire/ollama"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

var codecs = []wire.Codec{openai.Chat, openai.Completions, responses.Codec, ollama.Chat, ollama.Generate, anthropic.Messages, llamacpp.Completion, cohere.Chat, gemini.GenerateContent, bedrock.Converse}

// requests are bodies with everything that a codec reads of a request.
var requests = map[string]string{
	"openai.chat": `{"model":"m","stream":true,"enable_thinking":true,"reasoning_effort":"high","reasoning_split":true,"include_reasoning":true,
		"chat_template_kwargs":{"enable_thinking":true},"reasoning":{"effort":"high","enabled":true,"max_tokens":1,"exclude":true},
		"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"t"}],"signature":"c2ln"},{"type":"text","text":"a"}],
		 "reasoning_content":"t","tool_calls":[{"id":"c1","function":{"name":"f","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]},
		{"role":"tool","tool_call_id":"c1","content":"r"},
		{"role":"assistant","content":"x","function_call":{"name":"g"},"reasoning_details":[{"type":"reasoning.text","text":"t","summary":"s","signature":"c2ln","data":"d"}]},
		{"role":"assistant","content":"prefill"}]}`,
	"openai.completions": `{"model":"m","stream":true,"prompt":"<think>"}`,
	"openai.responses": `{"model":"m","stream":true,"reasoning":{"effort":"high"},"input":[
		{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},
		{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"t"}],"encrypted_content":"e"},
		{"type":"reasoning","id":"rs_2","content":[{"type":"reasoning_text","text":"t"}]},
		{"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
		{"type":"function_call_output","call_id":"c1","output":"r"},
		{"role":"assistant","status":"in_progress","content":[{"type":"output_text","text":"pre"}]}]}`,
	"llamacpp.completion": `{"model":"m","stream":true,"prompt":{"prompt_string":"<think>","multimodal_data":[]},"json_schema":{},"chat_template_kwargs":{"enable_thinking":true}}`,
	"cohere.chat": `{"model":"m","stream":true,"thinking":{"type":"enabled","token_budget":9},"response_format":{"type":"json_object"},"tools":[{}],
		"messages":[{"role":"user","content":"a"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"}],"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}],"tool_plan":"p"},
		{"role":"tool","tool_call_id":"c1","content":[{"type":"document","document":{"data":"r"}}]},{"role":"assistant","content":"pre"}]}`,
	"ollama.chat": `{"model":"m","stream":false,"think":"high","options":{"think":true},
		"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"","thinking":"t","tool_calls":[{"function":{"name":"f","arguments":{}}}]},
		{"role":"tool","tool_name":"f","content":"r"}]}`,
	"ollama.generate": `{"model":"m","stream":false,"raw":true,"prompt":"<think>","think":true}`,
	"anthropic.messages": `{"model":"m","stream":true,"thinking":{"type":"enabled","budget_tokens":1},"output_config":{"effort":"high"},
		"messages":[{"role":"user","content":"a"},
		{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":""},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"a"},{"type":"tool_use","id":"c1","name":"f","input":{}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"r"}]}]}]}`,
}

func init() {
	requests["gemini.generate"] = `{"tools":[{}],"generationConfig":{"responseMimeType":"application/json","thinkingConfig":{"includeThoughts":true,"thinkingBudget":1,"thinkingLevel":"low"}},
		"contents":[{"role":"user","parts":[{"text":"a"}]},
		{"role":"model","parts":[{"text":"t","thought":true,"thoughtSignature":"c2ln"},{"text":"a"},{"functionCall":{"id":"c1","name":"f","args":{}},"thoughtSignature":"c2ln"}]},
		{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{}}}]},
		{"role":"model","parts":[{"text":"prefill"}]}]}`
}

func init() {
	requests["bedrock.converse"] = `{"toolConfig":{"tools":[{"toolSpec":{"name":"f","inputSchema":{"json":{}}}}]},
		"outputConfig":{"textFormat":{"type":"json_schema"}},
		"additionalModelRequestFields":{"thinking":{"type":"enabled","budget_tokens":1},"reasoning_config":{"type":"enabled"},"reasoning_effort":"high",
			"reasoningConfig":{"type":"enabled","maxReasoningEffort":"low"}},
		"messages":[{"role":"user","content":[{"text":"a"}]},
		{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"t","signature":"c2ln"}}},{"reasoningContent":{"redactedContent":"ZA=="}},
			{"citationsContent":{"content":[{"text":"c"}]}},{"text":"a"},{"toolUse":{"toolUseId":"c1","name":"f","input":{}}}]},
		{"role":"user","content":[{"toolResult":{"toolUseId":"c1","content":[{"text":"r"}]}}]},
		{"role":"assistant","content":[{"text":"prefill"}]}]}`
}

// A place is a member of a body: the object that has it, and its key.
type place struct {
	object map[string]any
	key    string
	path   string
}

func places(v any, path string) (all []place) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			all = append(all, place{v, key, path + "." + key})
			all = append(all, places(value, path+"."+key)...)
		}
	case []any:
		for i, e := range v {
			all = append(all, places(e, path+"."+strconv.Itoa(i))...)
		}
	}
	return all
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDecidingKeys holds that a member whose absence or value changes what a codec
// reads of a request may not stand twice, nor in another case: gateway and upstream
// could read different ones. Every spelling that encoding/json takes for the key is
// tried, escaped ones too.
func TestDecidingKeys(t *testing.T) {
	for _, c := range codecs {
		t.Run(c.Name(), func(t *testing.T) {
			body := []byte(requests[c.Name()])
			was, err := c.Request(body)
			if err != nil {
				t.Fatal(err)
			}
			var root any
			if err := json.Unmarshal(body, &root); err != nil {
				t.Fatal(err)
			}
			decide := 0
			for _, p := range places(root, "") {
				if !differs(t, c, root, p, was) {
					continue
				}
				decide++
				for _, key := range spellings(p.key) {
					value := p.object[p.key]
					if key != p.key && !strings.Contains(key, `\`) { // an escaped key alone is the key
						delete(p.object, p.key)
						p.object["\x00"] = value
						refused(t, c, p.path, key, bytes.Replace(encode(t, root), []byte(`"\u0000"`), []byte(`"`+key+`"`), 1))
						delete(p.object, "\x00")
						p.object[p.key] = value
					}
					p.object["\x00"] = "other"
					refused(t, c, p.path, key, bytes.Replace(encode(t, root), []byte(`"\u0000"`), []byte(`"`+key+`"`), 1))
					delete(p.object, "\x00")
				}
			}
			if decide < 3 {
				t.Errorf("only %d members decide", decide)
			}
		})
	}
}

func refused(t *testing.T, c wire.Codec, path, key string, body []byte) {
	t.Helper()
	if !json.Valid(body) {
		t.Fatalf("the test's own body is broken: %s", body)
	}
	if q, err := c.Request(body); err == nil {
		t.Errorf("%s written as %q is taken: %+v", path, key, q)
	}
}

// differs reports whether a codec reads another request without the member, or with
// another value.
func differs(t *testing.T, c wire.Codec, root any, p place, was *wire.Request) bool {
	t.Helper()
	value := p.object[p.key]
	defer func() { p.object[p.key] = value }()
	delete(p.object, p.key)
	if q, err := c.Request(encode(t, root)); err != nil || !reflect.DeepEqual(q, was) {
		return true
	}
	p.object[p.key] = "other"
	q, err := c.Request(encode(t, root))
	return err != nil || !reflect.DeepEqual(q, was)
}

// spellings are keys that encoding/json takes for a key: itself, in other cases,
// with letters that fold to ASCII, and escaped.
func spellings(key string) []string {
	all := []string{key, strings.ToUpper(key), strings.ToUpper(key[:1]) + key[1:], fmt.Sprintf(`\u%04x`, key[0]) + key[1:]}
	for ascii, other := range map[string]string{"s": "ſ", "k": "\u212a"} {
		if strings.Contains(key, ascii) {
			all = append(all, strings.Replace(key, ascii, other, 1))
		}
	}
	return slices.DeleteFunc(all, func(s string) bool { // the escaped one alone is the key itself
		var got string
		err := json.Unmarshal([]byte(`"`+s+`"`), &got)
		return err != nil || s != key && got == key && !strings.Contains(s, `\`)
	})
}

// TestEscapedKey holds that a key counts as what it decodes to.
func TestEscapedKey(t *testing.T) {
	q, err := openai.Chat.Request([]byte(`{"mod\u0065l":"x","messages":[]}`))
	if err != nil || q.Model != "x" {
		t.Errorf("%+v, %v", q, err)
	}
	if _, err := openai.Chat.Request([]byte("{\"mod\xffel\":\"x\"}")); err == nil {
		t.Error("a key that is not valid UTF-8 is taken: a reader may drop the bytes")
	}
}

// TestOtherKeysPass holds that members which nothing is decided by may stand as
// they like: in a tool's input, in a schema, beside the deciding ones.
func TestOtherKeysPass(t *testing.T) {
	const body = `{"model":"m","messages":[{"role":"assistant","content":[{"type":"tool_use","id":"a","input":{"Text":1,"text":2,"text":3}}]}],"x":1,"X":2,"x":3,
		"tools":[{"x":1,"X":2,"function":{"name":"f","y":1,"Y":2,"parameters":{"MODEL":1,"model":2,"model":3}}}]}`
	if _, err := anthropic.Messages.Request([]byte(body)); err != nil {
		t.Error(err)
	}
}

// TestReadKeysDecide holds that every member that code reads of a request, by name,
// is a deciding one: who reads a further member adds it to chatjson.DecidingKeys.
func TestReadKeysDecide(t *testing.T) {
	known := map[string]bool{}
	var walk func(chatjson.Keys)
	walk = func(k chatjson.Keys) {
		for name, inner := range k {
			known[name] = true
			walk(inner)
		}
	}
	walk(chatjson.DecidingKeys())
	reads := 0
	for _, file := range []string{
		"messages.go", "switch.go", "transcript.go", "../../../wire/openai/codec.go", "../../../wire/openai/responses/codec.go",
		"../../../wire/ollama/codec.go", "../../../wire/anthropic/codec.go", "../../../wire/openai/responses/transcript.go", "../../../wire/anthropic/transcript.go",
	} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			lit, isLit := call.Args[0].(*ast.BasicLit)
			if !ok || sel.Sel.Name != "Get" || !isLit || lit.Kind != token.STRING {
				return true
			}
			path, _ := strconv.Unquote(lit.Value)
			for _, key := range strings.Split(path, ".") {
				reads++
				if _, err := strconv.Atoi(key); err != nil && !known[key] && !replyOnly[key] {
					t.Errorf("%s reads %q, which is not in chatjson.DecidingKeys", file, key)
				}
			}
			return true
		})
	}
	if reads < 40 {
		t.Errorf("only %d reads found", reads)
	}
}

// replyOnly are read in those files, of replies alone.
var replyOnly = map[string]bool{"finish_reason": true}
