package reading

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// Of a reply's text as much is delivered as a guard has let through; a choice that lacks text
// gets no more.
func TestAllowances(t *testing.T) {
	r := &Reading{}
	if got := r.lets(0, guard.Answer, []byte("abc")); string(got) != "abc" || r.Lacks(0, guard.Answer) || r.Filtered() || r.guardFindings(nil) != nil {
		t.Errorf("without a guard: %q", got)
	}
	r.Allowance = &Allowance{Parts: map[JudgedPart]*Allowed{}}
	at := JudgedPart{Choice: 1, Channel: guard.Answer}
	r.Allowance.Of(at).Bytes = 5
	var got []string
	for _, text := range []string{"abc", "de", "", "f"} {
		got = append(got, string(r.lets(1, guard.Answer, []byte(text))), fmt.Sprint(r.Lacks(1, guard.Answer)))
	}
	if s := strings.Join(got, " "); s != "abc false de false  false  true" {
		t.Error(s)
	}
	if r.lets(0, guard.Answer, []byte("x")); !r.Lacks(0, guard.Answer) || r.Lacks(1, guard.Reasoning) {
		t.Error("another choice or channel has the same allowance")
	}
	r.Allowance.Of(JudgedPart{Choice: 2, Channel: guard.Answer}).All = true
	if got := r.lets(2, guard.Answer, []byte("all")); string(got) != "all" || r.Lacks(2, guard.Answer) {
		t.Errorf("what is not judged: %q", got)
	}
	if r.Allowance.Cut = true; !slices.Equal(r.guardFindings([]sotto.Code{"a"}), []sotto.Code{"a", guardCut}) {
		t.Error(r.guardFindings(nil))
	}
	if r.Allowance.Ended = true; !r.Filtered() || !slices.Equal(r.guardFindings(nil), []sotto.Code{guardCut, guardEnded}) {
		t.Error(r.guardFindings(nil))
	}
	var heard, closed []string
	r = &Reading{Allowance: &Allowance{Parts: map[JudgedPart]*Allowed{}}}
	r.Allowance.Hear = func(at JudgedPart, text []byte) { heard = append(heard, fmt.Sprint(at.Choice, string(text))) }
	r.Allowance.Close = func(choice int) { closed = append(closed, fmt.Sprint(choice)) }
	for _, texts := range []bool{false, true} {
		r.Can.Texts = texts
		r.lets(3, guard.Answer, []byte("x"))
		r.paused(3)
	}
	if fmt.Sprint(heard, closed) != "[3 x 0 x] [3 0]" && fmt.Sprint(heard, closed) != "[3x 0x] [3 0]" || r.Lacks(3, guard.Answer) {
		t.Error(heard, closed)
	}
}

// Why JSON that was asked for is missing is found, unless it is there or nothing can be said.
func TestJSONLayers(t *testing.T) {
	for _, c := range []struct {
		text   string
		end    sotto.Ending
		called bool
		layer  string
		valid  bool
	}{
		{`{"a":1}`, sotto.EndStopped, false, "", true}, {" [1]\n", sotto.EndCut, false, "", true}, {`{"a":`, sotto.EndCut, false, jsonCut, false}, {`{"a":`, sotto.EndStopped, false, jsonModel, false}, {`{"a":`, sotto.EndAborted, false, "", false}, {"Here it is:\n```json\n{}\n```", sotto.EndStopped, false, jsonFence, false}, {"text", sotto.EndStopped, false, jsonModel, false},
		{"", sotto.EndStopped, true, "", false}, {"x", sotto.EndStopped, true, jsonModel, false}, {"", sotto.EndStopped, false, jsonModel, false},
	} {
		r := &Reading{Limits: Bounds{Frame: 4 << 20, Choices: 1024, Hold: 256 << 10, Recorded: 4 << 20}, Manner: Manner{JSON: true, Display: routing.DisplayKeep}}
		r.called = c.called
		ch := &Choice{}
		ch.json.text = []byte(c.text)
		r.endJSON(ch, c.end)
		r.Choices = []*Choice{nil, ch}
		if ch.json.layer != c.layer || ch.json.valid != c.valid || r.JSONLayer() != c.layer || ch.json.text != nil {
			t.Errorf("%q, %v, called %v: %q, valid %v", c.text, c.end, c.called, ch.json.layer, ch.json.valid)
		}
	}
	r := &Reading{}
	r.Choices = []*Choice{{}, nil, {}}
	r.Choices[0].json.layer = jsonModel
	if r.JSONLayer() != jsonModel || r.JSONFences() {
		t.Errorf("%q, %v", r.JSONLayer(), r.JSONFences())
	}
	r.Choices[2].json.valid, r.Choices[2].json.fence.dropped = true, true
	if r.JSONLayer() != jsonModel || !r.JSONFences() {
		t.Errorf("%q, %v", r.JSONLayer(), r.JSONFences())
	}
	if r.Can.Texts = true; r.JSONLayer() != "" {
		t.Error("one of the texts of a reply is the JSON")
	}
}

// A thought that comes twice, in a field and in tags, is given once; what differs is given.
func TestEchoes(t *testing.T) {
	long := strings.Repeat("abcdefgh", sample/8)
	for _, c := range []struct {
		name  string
		parts []string // f: in the field, 1: in block 1, 2: in block 2
		want  string
	}{
		{"twice", []string{"f:one two", "1:one ", "1:two"}, "one two"}, {"white space around it", []string{"f:\n one", "1: \n", "1:one\n"}, "\n one"}, {"the other first", []string{"1:one", "f:one"}, "one"}, {"another", []string{"f:one", "1:on", "1:ly"}, "one\n\nonly"}, {"more", []string{"f:one", "1:one and"}, "one\n\none and"}, {"then its own", []string{"f:one", "1:x", "1:one"}, "one\n\nxone"},
		{"in two blocks", []string{"f:one two", "1:one ", "2:two"}, "one two"}, {"longer than the sample", []string{"f:" + long + "x", "1:" + long + "y"}, long + "x"}, {"of the sample's length", []string{"f:" + long, "1:" + long[:8] + "Y"}, long + "\n\n" + long[:8] + "Y"}, {"one alone", []string{"f:a", "f:b"}, "ab"},
	} {
		var e echo
		var got bytes.Buffer
		give := func(text []byte) { got.Write(text) }
		for _, p := range c.parts {
			from, text, _ := strings.Cut(p, ":")
			if from == "f" {
				e.native([]byte(text), give)
			} else {
				e.inline(int(from[0]-'0'), []byte(text), give)
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: %.100q, want %.100q", c.name, got.String(), c.want)
		}
	}
}
