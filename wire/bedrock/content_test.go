package bedrock

import (
	"encoding/json"
	"testing"

	"github.com/sotto-llm/sotto/wire"
)

// TestEdit makes each kind of change: what is not changed stays byte for byte, and the
// result is JSON also where all blocks go.
func TestEdit(t *testing.T) {
	const (
		thought = `{"reasoningContent": {"reasoningText":{"text":"t"}}}`
		text    = `{ "text":"<think>r</think>a"}`
		cited   = `{"citationsContent":{"content":[{"text":"c"}]}}`
		call    = `{"toolUse":{"toolUseId":"c1","name":"f","input":{"x": 1.50}}}`
	)
	for _, test := range []struct {
		content string
		change  wire.Change
		want    string
	}{
		{thought + ", " + text, wire.Change{Drop: []int{0}}, text},
		{text + "," + cited, wire.Change{Texts: map[int]string{0: "a", 1: "d"}}, `{ "text":"a"},{"citationsContent":{"content":[{"text":"d"}]}}`},
		{text, wire.Change{Field: reasoningMember, Add: "r\n", Texts: map[int]string{0: "a"}}, `{"reasoningContent":{"reasoningText":{"text":"r\n"}}},{ "text":"a"}`},
		{call, wire.Change{Texts: map[int]string{0: "x"}}, `{"text":"x"},` + call},
		{thought + "," + call, wire.Change{Drop: []int{0}, Texts: map[int]string{0: "x"}}, `{"text":"x"},` + call},
		{thought, wire.Change{Drop: []int{0}, Field: reasoningMember, Add: "r"}, `{"reasoningContent":{"reasoningText":{"text":"r"}}}`},
	} {
		const before, after = `{"messages": [{"role":"user","content":[{"text":"q"}]},{"content": [`, `],"role":"assistant"}],"x":1e3}`
		test.change.Message = 1
		got, err := Converse.Edit(nil, []byte(before+test.content+after), []wire.Change{test.change})
		if err != nil || string(got) != before+test.want+after || !json.Valid(got) {
			t.Errorf("%s: %v\n%s\nwant\n%s", test.content, err, got, before+test.want+after)
		}
	}
	for _, c := range []wire.Change{{Message: 1}, {Texts: map[int]string{3: "x"}}, {Sign: map[int]string{0: "s"}}} {
		if _, err := Converse.Edit(nil, []byte(`{"messages":[{"role":"user","content":[{"text":"q"}]}]}`), []wire.Change{c}); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}
