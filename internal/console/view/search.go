package view

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/recordsearch"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

const (
	// MaxHits is how many hits a search gives before it stops. The hits of its last
	// event are still given.
	MaxHits = 100
	// PageSearched is how many bytes a page without scripts searches at once.
	PageSearched = 16 << 20
	// hitsOfKind is how many hits of one kind are given of an event.
	hitsOfKind = 4
	// matchesOfText bounds the matches that are looked at in a text.
	matchesOfText = 4096
	// aroundHit is how much of the text around a match is shown, in bytes.
	aroundHit = 160
	// tellEvery is after how many bytes a search says how far it is.
	tellEvery = 1 << 20
)

// A Kind says in what a hit is.
type Kind string

// The kinds.
const (
	InThought Kind = "thought" // what a model thinks
	InAnswer  Kind = "answer"  // what a model says
	InPrompt  Kind = "prompt"  // the messages of a request
	InTool    Kind = "tool"    // calls of tools, and their results
	InOther   Kind = "other"   // memory, errors and the rest
)

// Kinds are all kinds of hits.
func Kinds() []Kind { return []Kind{InThought, InAnswer, InPrompt, InTool, InOther} }

// A SearchQuery says what to search for. It is the query of a URL, and back.
type SearchQuery struct {
	Text string `json:"q"`
	// Regexp says that Text is a regular expression. Otherwise it is a text in which
	// upper and lower case are the same.
	Regexp bool `json:"regexp,omitempty"`
	In     Kind `json:"in,omitempty"` // "" means everywhere
	// Before is the cursor: only older events. Done is what was searched before it, in
	// bytes.
	Before uint64 `json:"before,omitempty"`
	Done   int64  `json:"-"`
}

// ParseSearch reads a search from the query of a URL.
func ParseSearch(v url.Values) (q SearchQuery, err error) {
	q.Text, q.Regexp, q.In = v.Get("q"), v.Get("regexp") == "1", Kind(v.Get("in"))
	if len(q.Text) > maxValue {
		return q, fmt.Errorf("q: longer than %d bytes", maxValue)
	}
	if q.In != "" && !slices.Contains(Kinds(), q.In) {
		return q, fmt.Errorf("in: %s: want thought, answer, prompt, tool or other", shorttext.Quote(string(q.In)))
	}
	if text := v.Get("before"); text != "" {
		if q.Before, err = strconv.ParseUint(text, 10, 64); err != nil || q.Before == 0 {
			return q, fmt.Errorf("before: %s: want the number of an event", shorttext.Quote(text))
		}
	}
	if n, err := strconv.ParseInt(v.Get("done"), 10, 64); err == nil && n > 0 {
		q.Done = n
	}
	_, err = q.pattern()
	return q, err
}

// Values returns the search as the query of a URL.
func (q SearchQuery) Values() url.Values {
	v := url.Values{}
	v.Set("q", q.Text)
	if q.Regexp {
		v.Set("regexp", "1")
	}
	if q.In != "" {
		v.Set("in", string(q.In))
	}
	if q.Before > 0 {
		v.Set("before", strconv.FormatUint(q.Before, 10))
		v.Set("done", strconv.FormatInt(q.Done, 10))
	}
	return v
}

func (q SearchQuery) pattern() (*regexp.Regexp, error) {
	if !q.Regexp {
		return regexp.Compile("(?i)" + regexp.QuoteMeta(q.Text))
	}
	p, err := regexp.Compile(q.Text)
	var fault *syntax.Error
	if errors.As(err, &fault) {
		return nil, fmt.Errorf("q: not a regular expression: %s: %s", fault.Code, shorttext.Quote(fault.Expr))
	}
	if err == nil && p.MatchString("") {
		err = errors.New("it matches everywhere, because it matches nothing at all")
	}
	if err != nil {
		return nil, fmt.Errorf("q: %w", err)
	}
	return p, nil
}

// A Hit is a place where a search found something.
type Hit struct {
	Record string      `json:"record,omitempty"` // on a page of several gateways
	Event  uint64      `json:"event"`
	Time   time.Time   `json:"time"`
	Type   record.Type `json:"type"`
	Run    string      `json:"run,omitempty"`
	Model  string      `json:"model,omitempty"`
	Kind   Kind        `json:"kind"`
	Path   string      `json:"path"`
	Start  int         `json:"start"` // of the match, in the text
	End    int         `json:"end"`
	// Before, Match and After are the text around the match, and it.
	Before record.Text `json:"before"`
	Match  record.Text `json:"match"`
	After  record.Text `json:"after"`
	// Opens says that the event has a page, as every event does.
	Opens bool `json:"opens"`
	// Choice is the reply whose raw bytes hold the match; -1 if it is elsewhere.
	Choice int `json:"choice"`
	// More counts further hits of this kind in the event that are not listed; it is
	// with the last one that is.
	More int `json:"more,omitempty"`
}

// Progress says how far a search is.
type Progress struct {
	V        int         `json:"v"`
	Query    SearchQuery `json:"query"`
	Searched int64       `json:"searched"` // bytes, with those of earlier pages
	Total    int64       `json:"total"`    // bytes of the record
	Events   int         `json:"events"`
	Hits     int         `json:"hits"`
	// Older is the cursor where the search goes on. It is 0 at the record's end.
	Older      uint64 `json:"older,omitempty"`
	Unreadable int    `json:"unreadable,omitempty"`
	Sealed     bool   `json:"sealed,omitempty"`
}

// Found is a part of a search, as a page shows it.
type Found struct {
	Progress
	List []Hit `json:"list"`
}

// Size returns the bytes of the record.
func (s *Source) Size() int64 {
	_, size := s.store.Size()
	return size
}

// Search searches the record, the newest events first. found gets the hits of an
// event, and told says from time to time how far the search is; either ends it if it
// returns false. most bounds the bytes that are read; 0 means the whole record.
func (s *Source) Search(ctx context.Context, q SearchQuery, most int64, found func([]Hit, Progress) bool, told func(Progress) bool) (Progress, error) {
	p := Progress{V: 1, Query: q, Searched: q.Done, Total: s.Size()}
	pattern, err := q.pattern()
	if err != nil {
		return p, err
	}
	last, read := int64(0), int64(0)
	store := s.store.For(ctx)
	for g, err := range store.Back(sidecar.Query{Query: record.Query{Before: q.Before}, Pattern: pattern}, longLine) {
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
		var line *record.LineError
		switch {
		case errors.Is(err, record.ErrSealed), err == nil && g.Type == record.TypeSealed:
			p.Sealed = true // others may be open
			continue
		case errors.As(err, &line):
			p.Unreadable++
			continue
		case err != nil:
			return p, err
		}
		if p.Hits >= MaxHits || most > 0 && read >= most {
			p.Older = g.Seq + 1
			break
		}
		e, model := g.Event, g.Model
		if g.Partial {
			if e, err = s.whole(ctx, store, g.Seq); errors.As(err, &line) || errors.Is(err, ErrNotFound) {
				p.Unreadable++
				continue
			}
			if err != nil {
				return p, err
			}
		}
		p.Events++
		read += int64(g.Size)
		p.Searched = min(q.Done+read+store.Skipped(), max(p.Total, q.Done+read))
		if hits := hitsOf(&e, model, pattern, q.In); len(hits) > 0 {
			p.Hits += len(hits)
			if !found(hits, p.at(g.Seq)) {
				p.Older = g.Seq
				break
			}
		}
		if read-last >= tellEvery {
			last = read
			if !told(p.at(g.Seq)) {
				p.Older = g.Seq
				break
			}
		}
	}
	if p.Older == 0 {
		p.Searched = min(q.Done+read+store.Skipped(), max(p.Total, q.Done+read))
	}
	return p, nil
}

// at is the progress after an event.
func (p Progress) at(seq uint64) Progress {
	p.Older = seq
	return p
}

// whole reads a long event, one at a time.
func (s *Source) whole(ctx context.Context, store *sidecar.Store, seq uint64) (record.Event, error) {
	select {
	case s.long <- struct{}{}:
		defer func() { <-s.long }()
	case <-ctx.Done():
		return record.Event{}, ctx.Err()
	}
	e, found, err := store.Event(seq)
	if err == nil && (!found || e.Seq != seq) {
		err = ErrNotFound
	}
	return e, err
}

// SearchPage searches a part of the record, for a page without scripts: as much as it may read
// or, if within is not 0, what it reads in about this time.
func (s *Source) SearchPage(ctx context.Context, q SearchQuery, within time.Duration) (*Found, error) {
	began := time.Now()
	f := &Found{Progress: Progress{V: 1, Query: q, Total: s.Size()}, List: []Hit{}}
	if q.Text == "" {
		return f, nil
	}
	p, err := s.Search(ctx, q, PageSearched, func(hits []Hit, _ Progress) bool {
		f.List = append(f.List, hits...)
		return true
	}, func(Progress) bool { return within == 0 || time.Since(began) < within })
	f.Progress = p
	return f, err
}

// hitsOf returns the hits in an event: the first of each kind.
func hitsOf(e *record.Event, model string, pattern *regexp.Regexp, in Kind) []Hit {
	var list []Hit
	counts := map[Kind]int{}
	newest := map[Kind]int{}
	search := recordsearch.Search{Pattern: pattern, In: recordsearch.Any, Most: matchesOfText, Found: func(m recordsearch.Match) {
		kind := kindOf(&m)
		if in != "" && kind != in {
			return
		}
		if counts[kind]++; counts[kind] > hitsOfKind {
			list[newest[kind]].More++
			return
		}
		newest[kind] = len(list)
		list = append(list, hitOf(&m, kind, model))
	}}
	search.Event(e)
	return list
}

// kindOf says in what a match is, by its channel and its place.
func kindOf(m *recordsearch.Match) Kind {
	switch {
	case strings.HasPrefix(m.Path, "messages."), strings.HasPrefix(m.Path, "asked."), strings.HasPrefix(m.Path, "prompt"), strings.HasPrefix(m.Path, "system"):
		return InPrompt
	case m.Channel == sotto.ChannelReasoning || m.Channel == sotto.ChannelAside:
		return InThought
	case m.Channel == sotto.ChannelTool, strings.Contains(m.Path, "tool_calls."), m.Type == record.TypeToolCall:
		return InTool
	case strings.HasPrefix(m.Path, "replies."):
		return InAnswer
	}
	return InOther
}

// hitOf returns a hit, with what is around the match on its line.
func hitOf(m *recordsearch.Match, kind Kind, model string) Hit {
	h := Hit{
		Event: m.Seq, Time: m.Time, Type: m.Type, Run: m.Run, Model: model, Kind: kind, Path: m.Path, Start: m.Start, End: m.End, Choice: -1, Opens: true,
	}
	match, line := string(m.Match), string(m.Line)
	h.Match = record.Text(shorttext.Cut(match, aroundHit))
	if at := strings.Index(line, match); at >= 0 {
		before, after := line[:at], line[at+len(match):]
		if over := len(before) - aroundHit; over > 0 {
			before = before[shorttext.Boundary(before, over):]
		}
		h.Before, h.After = record.Text(before), record.Text(shorttext.Cut(after, aroundHit))
	}
	if n, ok := strings.CutPrefix(m.Path, "replies."); ok && strings.HasSuffix(n, ".raw") {
		if i, err := strconv.Atoi(strings.TrimSuffix(n, ".raw")); err == nil {
			h.Choice = i
		}
	}
	return h
}
