package agentmodel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/agentmodel"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
)

// eventsOf are the events of a response's stream.
func eventsOf(t *testing.T, raw string) (list []gjson.Result) {
	t.Helper()
	for line := range strings.Lines(raw) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			list = append(list, gjson.Parse(data))
		}
	}
	if len(list) == 0 {
		t.Fatal("no events:", raw)
	}
	return list
}

// A response has an item for each run of thoughts and of text, one after the other, and says
// the same streamed and whole. Its members say whose it is and what is kept of it.
func TestResponseItems(t *testing.T) {
	m := &agentmodel.Models{Agents: []*agent.Agent{painter(t)}, Kept: &conversation.Store{Folder: t.TempDir()}}
	base := serveModels(t, m, func(*gateway.Config) {})
	a := apis["responses"]
	a.request = strings.Replace(a.request, `"instructions"`, `"conversation":"walls","instructions"`, 1)
	list := eventsOf(t, a.ask(t, base, "Paint.", true).raw)
	open, next := -1, 0
	for i, e := range list {
		if e.Get("sequence_number").Int() != int64(i) {
			t.Errorf("event %d: %s", i, e)
		}
		switch e.Get("type").Str {
		case "response.output_item.added":
			if open >= 0 || e.Get("output_index").Int() != int64(next) {
				t.Errorf("begins while item %d is open: %s", open, e)
			}
			open = next
			next++
		case "response.output_item.done":
			if e.Get("output_index").Int() != int64(open) || e.Get("item.status").Str != "completed" {
				t.Errorf("item %d is open: %s", open, e)
			}
			open = -1
		}
	}
	begun, done := list[0].Get("response"), list[len(list)-1].Get("response")
	if list[0].Get("type").Str != "response.created" || list[1].Get("type").Str != "response.in_progress" || list[len(list)-1].Get("type").Str != "response.completed" {
		t.Error("the stream begins or ends with other events")
	}
	if usage := begun.Get("usage"); !usage.Exists() || usage.Type != gjson.Null || begun.Get("id").Str != done.Get("id").Str {
		t.Errorf("it begins as %s and ends as %s", begun, done)
	}
	whole := gjson.Parse(a.ask(t, base, "Paint.", false).raw)
	for _, r := range []gjson.Result{done, whole} {
		got := fmt.Sprint(r.Get(`output.#.type`), r.Get(`output.#.content.0.text`))
		if want := `["reasoning","message","reasoning","message"] ["CANARY one","Let me see.","\n\nCANARY two","\n\nIt is red. Write ` + "`<think>`" + ` so."]`; got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
		for path, want := range map[string]string{
			"object": `"response"`, "status": `"completed"`, "model": `"agent/painter"`, "store": "true", "conversation": `{"id":"walls"}`, "instructions": "null", "metadata": "{}",
			"tools": "[]", "tool_choice": `"auto"`, "parallel_tool_calls": "false", "temperature": "null", "top_p": "null", "error": "null", "incomplete_details": "null", "usage.total_tokens": "4160",
		} {
			if got := r.Get(path).Raw; got != want {
				t.Errorf("%s is %s, want %s", path, got, want)
			}
		}
		if r.Get("created_at").Int() == 0 || !strings.HasPrefix(r.Get("id").Str, "resp_") {
			t.Error(r)
		}
	}
}

// A response that fails ends what it has begun, and says what the error is.
func TestResponseFails(t *testing.T) {
	base := serve(t, painter(t), nil, func(*gateway.Config) {})
	list := eventsOf(t, apis["responses"].ask(t, base, "Fail.", true).raw)
	last := list[len(list)-1]
	if last.Get("type").Str != "response.failed" || last.Get("response.status").Str != "failed" ||
		last.Get("response.error").Raw != `{"code":"server_error","message":"the agent failed; the log of the server says why"}` {
		t.Error(last)
	}
	open := 0
	for _, e := range list {
		switch e.Get("type").Str {
		case "response.output_item.added":
			open++
		case "response.output_item.done":
			open--
		}
	}
	if n := len(last.Get("response.output").Array()); n == 0 || open != 0 || strings.Contains(last.Get("response.output").Raw, "in_progress") {
		t.Errorf("%d items, %d open: %s", n, open, last)
	}
}
