package scripted

import (
	"strings"
	"testing"
)

// TestResponsesContract plays two calls of a tool with a model that encrypts its thoughts.
func TestResponsesContract(t *testing.T) {
	tools := []any{body{"type": "function", "name": "get_weather"}}
	ask := func(input ...any) (items []any, status int, text string) {
		w := post(t, "/v1/responses", body{"model": "gpt-5-loop", "input": append([]any{body{"role": "user", "content": "Oslo?"}}, input...), "tools": tools})
		var reply struct{ Output []any }
		if w.Code == 200 {
			decode(t, w.Body.Bytes(), &reply)
		}
		return reply.Output, w.Code, w.Body.String()
	}
	result := body{"type": "function_call_output", "call_id": "x", "output": "4 °C"}
	first, _, text := ask()
	if len(first) != 3 || !strings.Contains(text, `"encrypted_content"`) {
		t.Fatal(text)
	}
	for _, c := range []struct {
		name   string
		change func(items []any) []any
		status int
		want   string
	}{
		{"as it was", func(items []any) []any { return items }, 200, "Once more."},
		{"dropped", func(items []any) []any { return items[1:] }, 400, "without its required 'reasoning' item"},
		{"changed", func(items []any) []any {
			return append([]any{with(items[0], "encrypted_content", "AAAA")}, items[1:]...)
		}, 400, "invalid_encrypted_content"},
		{"of nobody", func(items []any) []any {
			return append([]any{items[0], with(items[1], "id", "msg_sotto_1")}, items[2:]...)
		}, 404, "Item with id 'msg_sotto_1' not found."},
	} {
		if _, status, text := ask(append(c.change(first), result)...); status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s", c.name, status, text)
		}
	}
	second, _, _ := ask(append(first, result)...)
	if _, status, text := ask(append(append(append([]any{}, first...), result), append(second, result)...)...); status != 200 || strings.Contains(text, "function_call\"") {
		t.Errorf("after two calls: %d %s", status, text)
	}
}

// with is a copy of an object with another member.
func with(v any, name string, value any) any {
	o := body{}
	for k, v := range v.(map[string]any) {
		o[k] = v
	}
	o[name] = value
	return o
}
