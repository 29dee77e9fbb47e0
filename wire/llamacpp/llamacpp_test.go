package llamacpp_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/llamacpp"
	"github.com/sotto-llm/sotto/wire/openai"
)

// A witness notes what it is told of a reply, and gives texts back as they are.
type witness struct {
	found []wire.Event
	ends  []sotto.Ending
	err   error
}

func (w *witness) Found(f wire.Event) []wire.Part {
	w.found = append(w.found, f)
	if f.Kind == wire.EventText {
		return []wire.Part{{Text: f.Text}}
	}
	return nil
}
func (w *witness) Close(_ int, end sotto.Ending) []wire.Part {
	w.ends = append(w.ends, end)
	return nil
}
func (w *witness) Open() []int                              { return nil }
func (w *witness) Fail(err error)                           { w.err = err }
func (w *witness) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (w *witness) Findings() string                         { return "" }
func (w *witness) Share() (reasoning, all int)              { return 0, 0 }
func (w *witness) of(kind wire.EventKind) (all []wire.Event) {
	for _, f := range w.found {
		if f.Kind == kind {
			all = append(all, f)
		}
	}
	return all
}

// TestEnds: the reason for which a text ended is read in the form of every version of
// the server.
func TestEnds(t *testing.T) {
	for members, want := range map[string]sotto.Ending{
		`"stop_type":"limit"`: sotto.EndCut, `"stop_type":"eos"`: sotto.EndStopped, `"stop_type":"word"`: sotto.EndStopped, `"stop_type":"none"`: sotto.EndUnknown,
		`"stopped_eos":false,"stopped_limit":true`: sotto.EndCut, `"stopped_eos":true,"stopped_limit":false`: sotto.EndStopped, `"stopped_word":true`: sotto.EndStopped,
	} {
		w := &witness{}
		llamacpp.Completion.Reply(wire.Settings{}).Whole(nil, []byte(`{"content":"a","stop":true,`+members+`}`), w)
		if len(w.ends) != 1 || w.ends[0] != want {
			t.Errorf("%s: %v, want %v", members, w.ends, want)
		}
	}
}

// TestUnchanged: frames and bodies whose text stays pass byte for byte, with their
// comments, unknown members and token ids; what they say is reported.
func TestUnchanged(t *testing.T) {
	frames := []string{
		": ping\n\n", "data: {\"content\" : \"\\u0048i\",\"tokens\":[1],\"x\":1e0,\"stop\":false}\n\n",
		`data: {"index":0,"content":"","prompt_progress":{"total":9},"stop":false}` + "\n\n",
		`data: {"content":"","stop":true,"stop_type":"eos","model":"m","tokens_predicted":3,"tokens_evaluated":5,"timings":{"cache_n":2}}` + "\n\n",
	}
	w := &witness{}
	y := llamacpp.Completion.Reply(wire.Settings{})
	var out []byte
	for _, f := range frames {
		frame := wire.Frame{Raw: []byte(f)}
		if at := strings.IndexByte(f, '{'); at >= 0 {
			frame.At, frame.Data = at, []byte(strings.TrimSpace(f[at:]))
		}
		out = y.Frame(out, frame, w)
	}
	out = y.End(out, nil, w)
	if got := string(out); got != strings.Join(frames, "") || w.err != nil {
		t.Errorf("%v\n%q\nwant\n%q", w.err, got, frames)
	}
	usage, end := w.of(wire.EventUsage), w.of(wire.EventEnd)
	if len(usage) != 1 || usage[0].Usage != (wire.Usage{Input: 5, Output: 3, Reasoning: -1, CacheRead: 2, CacheWrite: -1}) || len(end) != 1 {
		t.Errorf("%+v, %d ends", usage, len(end))
	}
	if m := w.of(wire.EventModel); len(m) != 1 || m[0].Name != "m" {
		t.Errorf("%+v", m)
	}
}

// TestWriterOfEvents: what another API's codec has read is written as a valid reply, with
// the members that clients of this API need.
func TestWriterOfEvents(t *testing.T) {
	events := []wire.Event{
		{Kind: wire.EventModel, Name: "m"},
		{Kind: wire.EventThought, Choice: 1, Text: []byte("r")},
		{Kind: wire.EventText, Choice: 1, Text: []byte("<b>")},
		{Kind: wire.EventCall, Choice: 1, Name: "f", Text: []byte("{}")},
		{Kind: wire.EventFinish, Choice: 1, Name: "length", End: sotto.EndCut},
		{Kind: wire.EventText, Text: []byte("a")},
	}
	const second = `{"index":1,"reasoning_content":"r","content":"<b>","tokens":[],"stop":true,"model":"m","stop_type":"limit"}`
	const first = `{"index":0,"content":"a","tokens":[],"stop":false}`
	s := wire.Settings{Fields: []string{"reasoning_content"}}
	if got, want := string(llamacpp.Completion.Writer(s).Frames(nil, events)), "data: "+second+"\n\ndata: "+first+"\n\n"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := string(llamacpp.Completion.Writer(s).Whole(nil, events)), "["+first+","+second+"]"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := string(llamacpp.Completion.Writer(s).Whole(nil, events[5:])), first; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := string(llamacpp.Completion.Writer(wire.Settings{Fields: s.Fields, Hide: true}).Frames(nil, events[2:5])); strings.Contains(got, "reasoning_content") {
		t.Errorf("hidden: %s", got)
	}
	if got, want := string(llamacpp.Completion.Writer(s).Frames(nil, []wire.Event{{Kind: wire.EventMembers, Name: wire.MembersOfChoice, Raw: `{"index":0,"stop":false}`}})), ""; got != want {
		t.Errorf("a frame without news: %s", got)
	}
	if got, want := string(llamacpp.Completion.Writer(s).Frames(nil, []wire.Event{{Kind: wire.EventMembers, Name: wire.MembersOfDone}})), "data: [DONE]\n\n"; got != want {
		t.Errorf("the end: %s", got)
	}
}

// TestCanHide: only a reply that is written can begin to hide reasoning, also at
// /completions, where its form is known by the first frame.
func TestCanHide(t *testing.T) {
	for _, codec := range []wire.Codec{llamacpp.Completion, openai.Completions} {
		for _, written := range []bool{true, false} {
			if _, hides := codec.Reply(wire.Settings{Written: written}).(wire.Hider); hides != written {
				t.Errorf("%s, written %v: it can hide: %v", codec.Name(), written, hides)
			}
		}
	}
}
