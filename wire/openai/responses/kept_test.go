package responses_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// A failing reader keeps why the reply failed.
type failing struct {
	*reader
	err error
}

func (r *failing) Fail(err error) { r.err = err }

const keptPlace = `"item_id":"m","output_index":0,"content_index":0`

// What an upstream can make a reply keep is bounded, whatever it sends without
// end; a reply as long as any model's is not refused.
func TestKept(t *testing.T) {
	big := strings.Repeat("word ", 1<<16)
	always := func(data string) func(int) string { return func(int) string { return data } }
	for name, next := range map[string]func(i int) string{
		"text":             always(`{"type":"response.output_text.delta",` + keptPlace + `,"delta":"` + big + `"}`),
		"reasoning":        always(`{"type":"response.output_text.delta",` + keptPlace + `,"delta":"<think>` + big + `</think>a"}`),
		"native reasoning": always(`{"type":"response.reasoning_text.delta","item_id":"r","output_index":1,"content_index":0,"delta":"` + big + `"}`),
		"empty deltas":     always(`{"type":"response.output_text.delta",` + keptPlace + `,"delta":"","x":"` + big + `"}`),
		"annotations":      always(`{"type":"response.output_text.annotation.added",` + keptPlace + `,"x":"` + big + `"}`),
		"messages": func(i int) string {
			return fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"id":"m%d","type":"message","content":[]}}`, i, i)
		},
		"calls": func(i int) string {
			return fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"id":"f%d","type":"function_call"}}`, i, i)
		},
		"parts": func(i int) string {
			return fmt.Sprintf(`{"type":"response.content_part.added","item_id":"m","output_index":0,"content_index":%d,"part":{"type":"output_text","text":""}}`, i)
		},
		"summaries": func(i int) string {
			return fmt.Sprintf(`{"type":"response.reasoning_summary_text.delta","item_id":"r","output_index":1,"summary_index":%d,"delta":""}`, i)
		},
	} {
		if effort.Brief() && name != "messages" {
			continue // one of each kind
		}
		for _, set := range paths {
			if !set.Written || name != "annotations" && name != "empty deltas" { // nothing of them is kept
				keptUntil(t, set, name, next)
			}
		}
	}

	long := script{items: []scriptItem{msg(append([]string{"<think>"}, strings.SplitAfter(strings.Repeat(big, 6), " ")...))}}
	for range 1000 {
		long.items = append(long.items, call("{}"))
	}
	for _, set := range paths {
		r := &failing{reader: newReader("")}
		if streamThrough(set, r, long.stream(), nil); r.err != nil {
			t.Error(r.err)
		}
	}
}

// keptUntil sends events without end, until the reply fails.
func keptUntil(t *testing.T, set wire.Settings, name string, next func(i int) string) {
	t.Helper()
	y, r := responses.Codec.Reply(set), &failing{reader: newReader("")}
	out := []byte(nil)
	send := func(data string) {
		out = y.Frame(out[:0], wire.Frame{Raw: []byte("data: " + data + "\n\n"), Data: []byte(data), At: 6}, r)
	}
	send(`{"type":"response.output_item.added","output_index":0,"item":{"id":"m","type":"message","content":[]}}`)
	if name == "annotations" {
		send(`{"type":"response.output_text.delta",` + keptPlace + `,"delta":"a <"}`)
		send(`{"type":"response.output_text.done",` + keptPlace + `,"text":"a"}`)
	}
	n := 0
	for i := 1; r.err == nil && i < 1<<20; i++ {
		n = i
		send(next(i))
	}
	if r.err == nil || !strings.Contains(r.err.Error(), "64 MiB") || n < 100 {
		t.Errorf("%s, %+v: after %d events: %v", name, set, n, r.err)
	}
}
