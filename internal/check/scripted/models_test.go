package scripted

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
)

// replies calls f for every reply of every model.
func replies(t *testing.T, f func(t *testing.T, m *Model, r *Reply)) {
	for _, m := range append(Models(), Loops()...) {
		for turn, r := range map[string]*Reply{"plain": &m.Reply, "call": m.Call, "result": m.Result, "quiet": m.Quiet} {
			if r != nil {
				t.Run(m.Name+"/"+turn, func(t *testing.T) { f(t, &m, r) })
			}
		}
	}
}

// TestReadings compares every reply with its right reading, in the model's dialect.
// If the family's name gives another dialect, it also uses that.
func TestReadings(t *testing.T) {
	replies(t, func(t *testing.T, m *Model, r *Reply) {
		named, err := sotto.Named(m.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		byName, known := sotto.ForModel(m.Name)
		if got := byName.Dialect().Name; known && got != m.Dialect {
			t.Errorf("the name is read as %s, the replies want %s", got, m.Dialect)
		}
		if !known && m.Dialect != "default" {
			t.Errorf("the name says nothing of %s", m.Dialect)
		}
		reading, err := named.Parse(r.Text(), r.Start, r.End)
		if err != nil {
			t.Fatal(err)
		}
		if got := reading.Visible(); got != r.Visible {
			t.Errorf("visible is %q, want %q", got, r.Visible)
		}
		reasoning := append([]string{}, reading.Reasoning()...)
		if thought := strings.Join(r.Thought, ""); thought != "" {
			if len(reasoning) > 0 && !reflect.DeepEqual(reasoning, []string{thought}) {
				t.Errorf("two thoughts: %q on the field, %q in the text", thought, reasoning)
			}
			reasoning = []string{thought}
		}
		if !reflect.DeepEqual(reasoning, append([]string{}, r.Reasoning...)) {
			t.Errorf("reasoning is %q, want %q", reasoning, r.Reasoning)
		}
		splitter, err := named.NewSplitter(sotto.Options{Start: r.Start})
		if err != nil {
			t.Fatal(err)
		}
		var visible []byte
		for _, d := range r.Deltas {
			for _, p := range splitter.FeedString(d) {
				visible = append(visible, p.Visible...)
			}
		}
		for _, p := range splitter.Close(r.End) {
			visible = append(visible, p.Visible...)
		}
		if string(visible) != r.Visible {
			t.Errorf("streamed, visible is %q, want %q", visible, r.Visible)
		}
	})
}

func TestModels(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range append(Models(), Loops()...) {
		if seen[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		seen[m.Name] = true
		if m.Caption == "" || strings.ContainsRune(m.Caption, '\n') {
			t.Errorf("%s: caption %q", m.Name, m.Caption)
		}
		if wires[m.Wire] == nil {
			t.Errorf("%s: no wire %q", m.Name, m.Wire)
		}
		if (m.Call == nil) != (m.Result == nil) {
			t.Errorf("%s: half a tool loop", m.Name)
		}
		if histories[m.Wire] != nil && m.Call == nil {
			t.Errorf("%s wants something back and calls no tool", m.Name)
		}
		if found, ok := Find("someone/" + strings.ToUpper(m.Name)); !ok || found.Name != m.Name {
			t.Errorf("%s is not found", m.Name)
		}
	}
	for _, want := range []string{
		"deepseek-r1", "minimax-m2", "gpt-oss:20b", "qwen3:8b", "qwen3-tool-text", "scratch-pad", "rescued-pad", "cut-off",
		"code-fence", "mismatched", "nested", "narrate", "control", "magistral", "granite3.2", "plain", "prose", "long",
		"deepseek-v3.2", "ollama-native", "openrouter", "both", "claude", "kimi-k2.6", "gemini",
	} {
		if !seen[want] {
			t.Errorf("%s is missing", want)
		}
	}
	if m, _ := Find("long"); len(m.Reply.Deltas) != 144 {
		t.Errorf("the long reply has %d deltas, want 144", len(m.Reply.Deltas))
	}
}

// TestAwkwardCuts checks that in every reply with several markers, the deltas cut a
// marker, and that no delta cuts a character.
func TestAwkwardCuts(t *testing.T) {
	replies(t, func(t *testing.T, m *Model, r *Reply) {
		var ends []int
		for at, d := 0, 0; d < len(r.Deltas); d++ {
			if r.Deltas[d] == "" || !utf8.ValidString(r.Deltas[d]) {
				t.Errorf("delta %q", r.Deltas[d])
			}
			at += len(r.Deltas[d])
			ends = append(ends, at)
		}
		grammar, err := sotto.Named(m.Dialect)
		if err != nil {
			t.Fatal(err)
		}
		reading, err := grammar.Parse(r.Text(), r.Start, r.End)
		if err != nil {
			t.Fatal(err)
		}
		markers, cut := 0, 0
		for _, s := range reading.Segments {
			if s.Channel != sotto.ChannelMarkup && s.Channel != sotto.ChannelTool {
				continue
			}
			markers++
			for _, end := range ends {
				if s.Start < end && end < s.End {
					cut++
					break
				}
			}
		}
		if markers > 1 && cut == 0 {
			t.Errorf("no marker is cut: %q", r.Deltas)
		}
	})
}

func TestCut(t *testing.T) {
	const text = "Ämter, Öfen & Übel – 日本語のテキスト. "
	first := cut(text, 0)
	for shift := range 7 {
		deltas := cut(text, shift)
		if got := strings.Join(deltas, ""); got != text {
			t.Errorf("shift %d: joined %q", shift, got)
		}
		if same := reflect.DeepEqual(deltas, first); same != (shift%6 == 0) {
			t.Errorf("shift %d cuts at the same places: %t", shift, same)
		}
	}
	if cut("", 0) != nil {
		t.Error("nothing was cut")
	}
}

func TestLeadOpensTheBlock(t *testing.T) {
	m, _ := Find("minimax-m2")
	for lead, want := range map[string]bool{"": true, "Why?\n<think>\n": false, "<think> is a tag": true} {
		p := m.perform(cue{lead: lead}, 0)
		if got := strings.HasPrefix(p.text(textPart), "<think>"); got != want {
			t.Errorf("after %q the reply opens its block: %t", lead, got)
		}
	}
}

// TestObjectKeepsOrder checks the exact bytes of the encoder.
func TestObjectKeepsOrder(t *testing.T) {
	o := object{{"z", nil}, {"a", array{1, true, "<\x00\u00e9\n\"\\>", object{}}}, {"n", array{}}}
	if got, want := string(encoder{}.encode(nil, o)), `{"z":null,"a":[1,true,"<\u0000é\n\"\\>",{}],"n":[]}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := string(encoder{html: true}.encode(nil, "<&>")), "\"\\u003c\\u0026\\u003e\""; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestCallsOfOtherTools: the first of the given calls whose tool is offered is made,
// if the script's own is not.
func TestCallsOfOtherTools(t *testing.T) {
	m, _ := Find("plain")
	given := []ToolCall{{Name: "shell", Arguments: `{"command":"ls"}`}, {Name: "edit", Arguments: `{}`}}
	for offered, want := range map[string]ToolCall{
		"get_weather shell": {Name: toolName, Arguments: toolArguments},
		"read edit shell":   given[0],
		"read":              {Name: "read", Arguments: toolArguments},
	} {
		p := m.perform(cue{tools: strings.Fields(offered), calls: given}, 0)
		if p.call == nil || *p.call != want {
			t.Errorf("with %s: %v, want %v", offered, p.call, want)
		}
	}
}
