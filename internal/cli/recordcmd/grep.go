package recordcmd

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/cli/painter"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/eventtext"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/internal/visible"
	"github.com/sotto-llm/sotto/record"
)

type grepCommand struct {
	source
	Pattern string `arg:"" name:"pattern" help:"A regular expression (RE2); (?i) before it ignores case."`
	filter
	In   string `default:"any" enum:"any,reasoning,answer" placeholder:"WHERE" help:"Where to look: any, reasoning (what models think), answer (everything else)."`
	JSON bool   `name:"json" help:"Print a JSON object for each match."`
}

// Help explains what is searched.
func (grepCommand) Help() string {
	return `Searches replies, prompts, reasoning, tool calls and results, goals, summaries, candidates and errors; --limit counts events. The filters use the index, so that only the lines that they select are read.

The object: {"v":1,"seq","time","run","cycle","type","path","channel","start","end","match","line"}; path is the place of the text in the payload. start and end are byte offsets into the text as it was before anything was cut out.`
}

// Run searches.
func (g *grepCommand) Run(sh *shell.Shell) error {
	re, err := regexp.Compile(g.Pattern)
	if err != nil {
		return hint.Usage(err, "")
	}
	q, err := g.query()
	if err != nil {
		return err
	}
	limit := q.Limit
	q.Limit, q.NoCheckpoints = 0, true
	r, err := g.reader()
	if err != nil {
		return err
	}
	s := &search{re: re, in: g.In, json: g.JSON, out: bufio.NewWriterSize(sh.Results(g.JSON), 64<<10)}
	defer s.out.Flush()
	bad := badLines{sh: sh}
	for e, err := range r.Events(q) {
		if err == nil && e.Type == record.TypeSealed {
			err = record.ErrSealed
		}
		if err != nil {
			if err = bad.skip(err); err != nil {
				return err
			}
			continue
		}
		if s.event(&e); s.err != nil {
			return s.err
		}
		if limit > 0 && s.events == limit {
			break
		}
	}
	return cmp.Or(s.out.Flush(), bad.err())
}

// A search prints the matches in events.
type search struct {
	re   *regexp.Regexp
	in   string
	json bool
	out  *bufio.Writer

	events int // with a match
	err    error
}

// A match is a place where the pattern matches.
type match struct {
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

func (s *search) event(e *record.Event) {
	found := false
	at := match{V: 1, Seq: e.Seq, Time: e.Time, Run: e.Run, Cycle: e.Cycle, Type: e.Type}
	w := eventtext.Walker{
		Text: func(t eventtext.Text) { found = s.text(at, t) || found },
		Members: func(path string, list []eventtext.Member) {
			for _, m := range list {
				if m.Name == "error" || m.Name == "message" {
					found = s.text(at, eventtext.Text{Path: strings.TrimPrefix(path+"."+m.Name, "."), Content: record.Say(m.Value)}) || found
				}
			}
		},
	}
	w.Event(e)
	if found {
		s.events++
	}
}

// text searches one text.
func (s *search) text(at match, t eventtext.Text) (found bool) {
	text := string(t.Content.Text)
	list := t.Stretches()
	from := 0 // where list[0] begins in text
	for _, m := range s.re.FindAllStringIndex(text, -1) {
		for len(list) > 1 && from+len(list[0].Text) <= m[0] {
			from += len(list[0].Text)
			list = list[1:]
		}
		at.Path, at.Channel, at.Start = t.Path, t.Channel, m[0]
		if len(list) > 0 {
			at.Channel, at.Start = list[0].Channel, list[0].Start+m[0]-from
		}
		thought := at.Channel == sotto.ChannelReasoning || at.Channel == sotto.ChannelAside
		if s.in == "reasoning" && !thought || s.in == "answer" && thought {
			continue
		}
		at.End = at.Start + m[1] - m[0]
		at.Match, at.Line = record.Text(text[m[0]:m[1]]), record.Text(lineAround(text, m[0], m[1]))
		s.print(at)
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

func (s *search) print(m match) {
	if s.err != nil {
		return
	}
	if s.json {
		enc := json.NewEncoder(s.out)
		enc.SetEscapeHTML(false)
		s.err = enc.Encode(m)
		return
	}
	prefix := painter.Word(m.Channel)
	if prefix == "" {
		prefix = "mark │ "
	}
	_, s.err = fmt.Fprintf(s.out, "%d %s %s@%d %s%s\n", m.Seq, visible.Line(string(m.Type)), visible.Line(m.Path), m.Start, prefix, visible.Line(string(m.Line)))
}
