package view

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/holdreason"
	"github.com/sotto-llm/sotto/internal/data/replyjson"
	"github.com/sotto-llm/sotto/record"
)

// MaxPlay bounds a reply in the playground, in bytes.
const MaxPlay = 128 << 10

// A Play is the reading of a reply that comes byte by byte: what became certain when.
type Play struct {
	V       int    `json:"v"`
	Dialect string `json:"dialect"`
	Start   string `json:"start"`
	End     string `json:"end"`
	Total   int    `json:"total"` // bytes of the reply
	// Pieces cover the reply, in order.
	Pieces []PlayPiece `json:"pieces"`
	// Shown says when each part of the visible text was delivered. The offsets are
	// those of that text.
	Shown []PlaySpan `json:"shown"`
	// Holds are the stretches of the arrival during which bytes waited.
	Holds       []Hold             `json:"holds"`
	Longest     int                `json:"longest_hold"` // in bytes
	Diagnostics []sotto.Diagnostic `json:"diagnostics"`
	More        int                `json:"more_diagnostics,omitempty"`
	// Reading is the object that sotto split prints.
	Reading json.RawMessage `json:"reading"`

	// Runs are the bytes with their diagnostics, and Reply what a page without
	// scripts shows of the whole.
	Runs  []Run `json:"-"`
	Reply Reply `json:"-"`
}

// A PlaySpan is a stretch of bytes, and how many bytes of the reply had come when
// its first byte was certain: Total+1 stands for the end of the reply.
type PlaySpan struct {
	From int `json:"from"`
	To   int `json:"to"`
	At   int `json:"at"`
	// Each says that every further byte came with one more byte of the reply.
	// Otherwise they all came together.
	Each bool `json:"each,omitempty"`
}

// follows reports whether a stretch that begins at from continues a span, and lets
// it.
func (p *PlaySpan) follows(from, to, at int) bool {
	switch n := p.To - p.From; {
	case from != p.To:
		return false
	case at == p.At && !p.Each:
	case to == from+1 && at == p.At+n && (p.Each || n == 1):
		p.Each = true
	default:
		return false
	}
	p.To = to
	return true
}

// A PlayPiece is a stretch of a segment that became certain together, or byte by byte.
type PlayPiece struct {
	PlaySpan
	Channel sotto.Channel `json:"channel"`
	Block   int           `json:"block,omitempty"`
	Segment int           `json:"segment"`
}

// A Hold is a stretch of the arrival, from From bytes to To, during which byte At
// waited, and why. The last To may be Total.
type Hold struct {
	From int               `json:"from"`
	To   int               `json:"to"`
	At   int               `json:"at"`
	Why  holdreason.Reason `json:"why"`
}

// PlayReply reads a reply as it comes, byte by byte.
func PlayReply(g *sotto.Grammar, text string, start sotto.Beginning, end sotto.Ending) (*Play, error) {
	if len(text) > MaxPlay {
		return nil, fmt.Errorf("the reply has %d bytes, and the playground reads at most %d: use sotto split", len(text), MaxPlay)
	}
	start = cmp.Or(start, sotto.Beginning(g.Dialect().Start)) // as a stream has it
	whole, err := g.Parse(text, start, end)
	if err != nil {
		return nil, err
	}
	s, err := g.NewSplitter(sotto.Options{Start: start})
	if err != nil {
		return nil, err
	}
	p := &Play{
		V: 1, Dialect: whole.Dialect, Start: string(whole.Start), End: end.String(), Total: len(text),
		Pieces: []PlayPiece{}, Shown: []PlaySpan{}, Holds: []Hold{}, Diagnostics: append([]sotto.Diagnostic{}, whole.Diagnostics...), More: whole.Counts.Total() - len(whole.Diagnostics),
		Reading: replyjson.Append(nil, nil, whole),
	}
	for i := range len(text) {
		p.show(s.FeedString(text[i:i+1]), i+1)
		p.hold(holdreason.Of(s), i+1, i+1-s.Held())
	}
	p.show(s.Close(end), len(text)+1)
	p.draw(whole)
	return p, nil
}

// show adds the pieces that came with byte at.
func (p *Play) show(pieces []sotto.Piece, at int) {
	for _, x := range pieces {
		if n := len(x.Bytes); n > 0 {
			if k := len(p.Pieces) - 1; k < 0 || p.Pieces[k].Segment != x.Segment || !p.Pieces[k].follows(x.Offset, x.Offset+n, at) {
				p.Pieces = append(p.Pieces, PlayPiece{PlaySpan{From: x.Offset, To: x.Offset + n, At: at}, x.Channel, x.Block, x.Segment})
			}
		}
		if n := len(x.Visible); n > 0 {
			from := 0
			k := len(p.Shown) - 1
			if k >= 0 {
				from = p.Shown[k].To
			}
			if k < 0 || !p.Shown[k].follows(from, from+n, at) {
				p.Shown = append(p.Shown, PlaySpan{From: from, To: from + n, At: at})
			}
		}
	}
}

// hold notes why bytes wait after byte n has come; the first of them is byte at.
func (p *Play) hold(why holdreason.Reason, n, at int) {
	if why == "" {
		return
	}
	p.Longest = max(p.Longest, n-at)
	if k := len(p.Holds) - 1; k >= 0 && p.Holds[k].To == n-1 && p.Holds[k].At == at && p.Holds[k].Why == why {
		p.Holds[k].To = n
		return
	}
	p.Holds = append(p.Holds, Hold{From: n, To: n, At: at, Why: why})
}

// draw makes what a page without scripts shows.
func (p *Play) draw(whole *sotto.Reply) {
	reply := record.ReplyOf(whole)
	r := &reading{reply: &reply, total: p.Total, diags: p.Diagnostics, more: p.More, answer: whole.Visible(), dialect: p.Dialect, start: p.Start}
	r.divide(reply.Segments)
	p.Runs, p.Reply = r.runs(0, p.Total), replyOf(r)
}
