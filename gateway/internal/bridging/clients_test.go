package bridging

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/providers"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A sent is a request that a program has sent. Long texts in it are cut, and what names a machine or a
// person is replaced.
type sent struct {
	name string

	Program   string
	API, Path string
	Body      json.RawMessage
}

func clients(t *testing.T) (list []sent) {
	t.Helper()
	files, err := filepath.Glob("testdata/clients/*.json")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := sent{name: strings.TrimSuffix(filepath.Base(file), ".json")}
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		list = append(list, s)
	}
	return list
}

func noCopies(string) (string, bool) { return "", false }

// cross brings a request from an API to another.
func cross(t *testing.T, from, to turn.API, path string, body []byte) (*Bridge, []byte, error) {
	t.Helper()
	asked, err := from.Request(body)
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", path, nil)
	if p := providers.Of(from); p.ReadPath != nil {
		p.ReadPath(r.URL.EscapedPath(), asked)
	}
	return Cross(r, from, to, asked, body, Keeper{Open: noCopies})
}

// TestClients: the requests that real programs send can go to each upstream, or the error names the member
// that cannot.
func TestClients(t *testing.T) {
	refusals := map[string]string{} // by program and upstream: the member
	for _, s := range clients(t) {
		from, _ := providers.Named(s.API)
		for _, to := range providers.APIs() {
			if to.Name == s.API {
				continue
			}
			path, body := s.Path, []byte(s.Body)
			if to.Name == "bedrock" { // the switches of thinking are those of the model
				path = strings.Replace(path, "gemini-2.5-pro", claude, 1)
				body, _ = with(t, body, "model", json.RawMessage(strconv.Quote(claude)))
			}
			b, out, err := cross(t, from, to.Codec, path, body)
			if err != nil {
				lacks, ok := errors.AsType[*turn.UnsupportedError](err)
				if !ok || lacks.Path == "" {
					t.Errorf("%s to %s: %v", s.name, to.Name, err)
					continue
				}
				refusals[s.name+" to "+to.Name] = lacks.Path
				continue
			}
			if !json.Valid(out) || b.Path.Path == "" {
				t.Errorf("%s to %s: %s %s", s.name, to.Name, b.Path, out)
			}
		}
	}
	if want := clientRefusals; !maps.Equal(refusals, want) {
		for k, v := range refusals {
			t.Logf("%q: %q,", k, v)
		}
		t.Error("others are refused than those that are known")
	}
}

const claude = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"

// clientRefusals are the members that an upstream has no place for.
var clientRefusals = map[string]string{
	"ai-anthropic-object to responses":  "stop_sequences",
	"ai-compatible-object to bedrock":   "response_format",
	"ai-compatible-object to messages":  "response_format",
	"ai-compatible-object to responses": "stop",
	"ai-google-object to responses":     "generationConfig.stopSequences",
	"anthropic-sdk to cohere":           "messages[2].content[0].content[1]",
	"gemini-cli to responses":           "generationConfig.topK",
}

// TestFunctions: a tool that takes a text, and one in a group, are functions for an upstream that has only
// those, and their calls come back as the client's.
func TestFunctions(t *testing.T) {
	body := []byte(`{"model":"m","input":[
		{"role":"user","content":"x"},
		{"type":"custom_tool_call","call_id":"c1","name":"patch","input":"a\n\"b\""},{"type":"custom_tool_call_output","call_id":"c1","output":"done"},
		{"type":"function_call","call_id":"c2","name":"find","namespace":"places","arguments":"{}"},{"type":"function_call_output","call_id":"c2","output":"y"}],
		"tools":[{"type":"custom","name":"patch","description":"A patch.","format":{"type":"grammar","syntax":"lark","definition":"start: X"}},
		{"type":"namespace","name":"places","description":"Places.","tools":[{"type":"function","name":"find","parameters":{"type":"object"}}]}]}`)
	from, _ := providers.Named("responses")
	to, _ := providers.Named("chat")
	_, out, err := cross(t, from, to, "/v1/responses", body)
	if err != nil {
		t.Fatal(err)
	}
	var q struct {
		Messages []struct {
			ToolCalls []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct {
			Type     string
			Function struct{ Name, Description string }
		}
	}
	if err := json.Unmarshal(out, &q); err != nil {
		t.Fatal(err)
	}
	if len(q.Tools) != 2 || q.Tools[0].Type != "function" || !strings.Contains(q.Tools[0].Function.Description, "start: X") || q.Tools[1].Function.Name != "places__find" {
		t.Errorf("tools: %s", out)
	}
	var calls []string
	for _, m := range q.Messages {
		for _, c := range m.ToolCalls {
			calls = append(calls, c.Function.Name+c.Function.Arguments)
		}
	}
	if got := strings.Join(calls, " "); got != `patch{"input":"a\n\"b\""} places__find{}` {
		t.Errorf("calls: %s", got)
	}
}
