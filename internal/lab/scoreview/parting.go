package scoreview

import (
	"cmp"
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/record"
)

// maxCompared is how much of a reply is compared, in bytes.
const maxCompared = 1 << 20

// dialectOf is how the reply of a scored line is read.
func dialectOf(v, from gjson.Result, named func(string) (*sotto.Grammar, error)) (*sotto.Grammar, sotto.Beginning) {
	g, begins := sotto.Default(), sotto.BeginAuto
	reading := member(v, "reading")
	if name := cmp.Or(reading.Get("dialect").String(), from.Get("dialect").String()); name != "" {
		if found, err := named(name); err == nil {
			g, begins = found, cmp.Or(sotto.Beginning(reading.Get("start").String()), begins)
		}
	}
	return g, begins
}

// partingOf finds where the replies of two scored lines part.
func partingOf(v, from, w, its gjson.Result, named func(string) (*sotto.Grammar, error)) *trace.Parting {
	mine, ok := stepsOf(v, from, named)
	other, also := stepsOf(w, its, named)
	if !ok || !also {
		return nil
	}
	p := trace.Part(mine, other)
	if p != nil {
		shortened(p.A.Steps)
		shortened(p.B.Steps)
	}
	return p
}

// shortened bounds the texts of steps, once they are compared.
func shortened(list []trace.Step) {
	for i := range list {
		t := &list[i].Text
		if short := shorttext.Cut(string(t.Pieces[0].Text), trace.MaxText); len(short) < t.Bytes {
			t.Pieces = []trace.Piece{{Text: record.Text(short), Bytes: len(short)}}
			t.Cut = true
		}
	}
}

// stepsOf are the thoughts, calls and answers of a reply, in order.
func stepsOf(v, from gjson.Result, named func(string) (*sotto.Grammar, error)) (list []trace.Step, ok bool) {
	raw, ok := rawOf(v, from)
	if !ok {
		return nil, false
	}
	raw = shorttext.Cut(raw, maxCompared)
	g, begins := dialectOf(v, from, named)
	parsed, err := g.Parse(raw, begins, sotto.EndUnknown)
	if err != nil {
		return nil, false
	}
	kinds := map[sotto.Channel]trace.Kind{
		sotto.ChannelText: trace.Answer, sotto.ChannelReasoning: trace.Thought, sotto.ChannelNarration: trace.Narration, sotto.ChannelTool: trace.Call, sotto.ChannelAside: trace.Note,
	}
	for _, s := range parsed.Segments {
		kind, shown := kinds[s.Channel]
		if !shown {
			continue
		}
		if n := len(list); n > 0 && list[n-1].Kind == kind && kind != trace.Call {
			last := &list[n-1].Text
			last.Pieces[0].Text += record.Text(raw[s.Start:s.End])
			last.Pieces[0].Bytes, last.Bytes = len(last.Pieces[0].Text), len(last.Pieces[0].Text)
			continue
		}
		if len(list) == trace.MaxSteps {
			break
		}
		text := record.Text(raw[s.Start:s.End])
		list = append(list, trace.Step{Kind: kind, ID: fmt.Sprintf("b%d", s.Start), State: unknownIf(kind), Text: trace.Text{Pieces: []trace.Piece{{Text: text, Bytes: len(text)}}, Bytes: len(text)}})
	}
	return list, true
}

// unknownIf is the state of a call whose result is not in its reply.
func unknownIf(k trace.Kind) trace.CallState {
	if k == trace.Call {
		return trace.Unknown
	}
	return ""
}
