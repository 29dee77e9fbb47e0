// Package recordsearch finds what models, tools and users wrote in the events of a
// record.
package recordsearch

import (
	"bytes"
	"cmp"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/recorded/eventtext"
	"github.com/sotto-llm/sotto/record"
)

// A Scope says in which texts to search.
type Scope string

// The scopes.
const (
	Any       Scope = "any"
	Reasoning Scope = "reasoning" // what models think
	Answer    Scope = "answer"    // everything else
)

// A Match is a place where the pattern matches.
type Match struct {
	V       int           `json:"v"`
	Seq     uint64        `json:"seq"`
	Time    time.Time     `json:"time"`
	Run     string        `json:"run"`
	Cycle   int           `json:"cycle"`
	Type    record.Type   `json:"type"`
	Path    string        `json:"path"`
	Channel sotto.Channel `json:"channel"`
	Start   int           `json:"start"`
	End     int           `json:"end"`
	Match   record.Text   `json:"match"`
	Line    record.Text   `json:"line"`
}

// A Search gives the matches in events.
type Search struct {
	Pattern *regexp.Regexp
	In      Scope
	// Most bounds the matches in one text; if zero, there is no bound.
	Most int
	// Seen, if set, returns what the caller may see of a text; false means nothing.
	Seen func(*record.Event, eventtext.Text) (eventtext.Text, bool)
	// Found gets each match.
	Found func(Match)
}

// Event searches one event, and reports whether anything matches.
func (s *Search) Event(e *record.Event) (found bool) {
	at := Match{V: 1, Seq: e.Seq, Time: e.Time, Run: e.Run, Cycle: e.Cycle, Type: e.Type}
	w := eventtext.Walker{
		Text: func(t eventtext.Text) {
			if s.Seen != nil {
				seen, ok := s.Seen(e, t)
				if !ok {
					return
				}
				t = seen
			}
			found = s.text(at, t) || found
		},
		Members: func(path string, list []eventtext.Member) {
			for _, m := range list {
				if m.Name == "error" || m.Name == "message" || m.Name == "name" && calls(e.Type, path) {
					found = s.text(at, eventtext.Text{Path: strings.TrimPrefix(path+"."+m.Name, "."), Content: record.Say(m.Value)}) || found
				}
			}
		},
	}
	w.Event(e)
	return found
}

// calls reports whether a name is that of a called tool, and not of one that is offered.
func calls(t record.Type, path string) bool {
	return path == "" && t == record.TypeToolCall || strings.Contains(path, "tool_calls.")
}

// text searches one text.
func (s *Search) text(at Match, t eventtext.Text) (found bool) {
	text := string(t.Content.Text)
	list := t.Stretches()
	from := 0 // where list[0] begins in text
	for _, m := range s.Pattern.FindAllStringIndex(text, cmp.Or(s.Most, -1)) {
		for len(list) > 1 && from+len(list[0].Text) <= m[0] {
			from += len(list[0].Text)
			list = list[1:]
		}
		at.Path, at.Channel, at.Start = t.Path, t.Channel, m[0]
		if len(list) > 0 {
			at.Channel, at.Start = list[0].Channel, list[0].Start+m[0]-from
		}
		thought := at.Channel == sotto.ChannelReasoning || at.Channel == sotto.ChannelAside
		if s.In == Reasoning && !thought || s.In == Answer && thought {
			continue
		}
		at.End = at.Start + m[1] - m[0]
		at.Match, at.Line = record.Text(text[m[0]:m[1]]), record.Text(lineAround(text, m[0], m[1]))
		s.Found(at)
		found = true
	}
	return found
}

// aroundMatch is how much of a long line is shown before and after a match.
const aroundMatch = 120

// lineAround returns the line of a match, or the text near it.
func lineAround(text string, start, end int) string {
	from, to := max(0, start-aroundMatch), min(len(text), end+aroundMatch)
	if i := bytes.LastIndexByte([]byte(text[from:start]), '\n'); i >= 0 {
		from += i + 1
	}
	if i := bytes.IndexByte([]byte(text[end:to]), '\n'); i >= 0 {
		to = end + i
	}
	return text[wholeAfter(text, from):shorttext.Boundary(text, to)]
}

// wholeAfter moves an offset on to where the next character begins, unless one
// begins there.
func wholeAfter(text string, at int) int {
	if from := shorttext.Boundary(text, at); from < at {
		_, size := utf8.DecodeRuneInString(text[from:])
		return max(at, from+size)
	}
	return at
}
