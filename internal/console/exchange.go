package console

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/view"
)

// eventOf reads the number in a path.
func eventOf(r *http.Request) (uint64, error) {
	text := r.PathValue("event")
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, BadRequest{fmt.Errorf("%s: want the number of an event", shorttext.Quote(text))}
	}
	return seq, nil
}

// A manner says how an exchange is shown: in which reading, and as an exchange of
// which list, so that its neighbours and the way back are those of the list.
type manner struct {
	view.Reread
	Filter view.Filter
}

// mannerOf reads the manner that a request asks for.
func mannerOf(r *http.Request) (m manner, err error) {
	q := r.URL.Query()
	m.Reread = view.Reread{Dialect: shorttext.Cut(q.Get("dialect"), maxReread), Start: shorttext.Cut(q.Get("start"), maxReread)}
	if m.Filter, err = view.ParseFilter(q); err != nil {
		return m, BadRequest{err}
	}
	m.Filter = m.Filter.Bare()
	return m, nil
}

// values are the query of the manner.
func (m manner) values() url.Values {
	q := m.Filter.Values()
	if m.Dialect != "" {
		q.Set("dialect", m.Dialect)
	}
	if m.Start != "" {
		q.Set("start", m.Start)
	}
	return q
}

// list is the address of the list, from a page at the same place as "exchanges".
func (m manner) list() string { return withQuery("exchanges", m.Filter.Values()) }

func withQuery(path string, q url.Values) string {
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

// exchangeData is what the page of an exchange shows.
type exchangeData struct {
	*view.Exchange
	View     string
	Markdown bool
	Again    manner
	Dialects []string
	Now      time.Time
	Base     string // the relative way to this exchange, from its pages
	List     string // the relative way to the list
	Runs     bool   // the console has the screens of runs and sessions
	Slices   []*view.Slice
	Curl     string
	Diff     string // between the recorded answer and the other reading's
}

// Story is the exchange as its page shows it.
func (d exchangeData) Story() Trace {
	return Trace{Steps: d.Steps, Root: "../", Runs: d.Runs, Own: d.Event, Markdown: d.Markdown, Plain: d.View == "export"}
}

// Answered reports whether a reply has an answer, which may be rendered.
func (d exchangeData) Answered() bool {
	return slices.ContainsFunc(d.Replies, func(r view.Reply) bool { return len(r.Answer.Text) > 0 })
}

// ByID is the address of the list of the exchanges with an identifier.
func (d exchangeData) ByID(id string) string {
	return "../" + manner{Filter: view.Filter{ID: id}}.list()
}

// views are the forms of an exchange.
var views = []string{"reading", "compare", "request", "curl"}

// exchange returns the exchange that a request names, its event, and how the request
// wants it read.
func (c *Console) exchange(r *http.Request) (x *view.Exchange, seq uint64, re manner, err error) {
	if seq, err = eventOf(r); err != nil {
		return nil, 0, re, err
	}
	if re, err = mannerOf(r); err != nil {
		return nil, 0, re, err
	}
	if x, err = c.source.Exchange(r.Context(), seq, re.Reread); err != nil {
		return nil, seq, re, rereadError(re.Reread, err)
	}
	x.Older, x.Newer = c.source.Neighbours(r.Context(), seq, re.Filter)
	return x, seq, re, nil
}

func one(c *Console, r *http.Request) (Answer, error) {
	x, seq, re, err := c.exchange(r)
	if errors.Is(err, view.ErrOther) {
		return Answer{Redirect: besides(r, "../events/"+strconv.FormatUint(seq, 10))}, nil
	}
	if err != nil {
		return Answer{}, err
	}
	d := exchangeData{
		Exchange: x, View: cmp.Or(r.URL.Query().Get("view"), views[0]), Markdown: r.URL.Query().Get("markdown") == "1",
		Again: re, Dialects: c.config.Dialects, Now: c.config.Now(), Base: strconv.FormatUint(seq, 10), List: "../" + re.list(), Runs: c.has("runs"),
	}
	switch d.View {
	case "reading", "request":
	case "compare":
		for i := range x.Replies {
			s, err := c.source.Bytes(r.Context(), seq, i, 0, re.Reread)
			if err != nil {
				return Answer{}, err
			}
			d.Slices = append(d.Slices, s)
		}
	case "curl":
		d.Curl = curl(x)
	default:
		return Answer{}, BadRequest{fmt.Errorf("view: %s: want %s", shorttext.Quote(d.View), strings.Join(views, ", "))}
	}
	if re.Reread != (view.Reread{}) {
		d.Diff = readingsDiff(x)
	}
	return Answer{
		Template: "exchange", Title: fmt.Sprintf("%s #%d", x.Model, seq), Data: d, JSON: x, Seen: []uint64{seq},
		Crumbs: []Crumb{{Word("screen.exchanges"), d.List}, {Name: "#" + strconv.FormatUint(seq, 10)}},
	}, nil
}

// rereadError makes a fault of the reading that was asked for one of the request.
func rereadError(re view.Reread, err error) error {
	if re != (view.Reread{}) && !errors.Is(err, view.ErrNotFound) {
		return BadRequest{err}
	}
	return err
}

// maxDiff bounds the texts that are compared line by line.
const maxDiff = 64 << 10

// readingsDiff compares the recorded answers with those of another reading.
func readingsDiff(x *view.Exchange) string {
	var b strings.Builder
	for _, r := range x.Replies {
		if r.Recorded == nil {
			continue
		}
		before, after := string(r.Recorded.Text), string(r.Answer.Text)
		switch {
		case before == after:
		case len(before) > maxDiff || len(after) > maxDiff:
			b.WriteString(Word("diff.long"))
		default:
			b.WriteString(udiff.Unified(Word("diff.recorded"), Word("diff.reread"), before+"\n", after+"\n"))
		}
	}
	return b.String()
}

// bytesData is what the page of a reply's bytes shows.
type bytesData struct {
	*view.Slice
	Base, List string
	Prev, Next string
	Choices    int
	View       string
	Again      manner
}

func byteSlice(c *Console, r *http.Request) (Answer, error) {
	seq, err := eventOf(r)
	if err != nil {
		return Answer{}, err
	}
	place := [3]int{}
	for i, name := range []string{"choice", "at", "end"} {
		if place[i], err = numberIn(r, name); err != nil {
			return Answer{}, err
		}
	}
	choice, at, end := place[0], place[1], place[2]
	re, err := mannerOf(r)
	if err != nil {
		return Answer{}, err
	}
	s, err := c.source.Bytes(r.Context(), seq, choice, at, re.Reread)
	if err != nil {
		return Answer{}, rereadError(re.Reread, err)
	}
	if end > 0 {
		s.Mark(at, end)
	}
	d := bytesData{Slice: s, Base: "../" + strconv.FormatUint(seq, 10), List: "../../" + re.list(), View: "bytes", Again: re}
	to := func(number int) string { return byteLink(choice, (number-1)*view.SliceSize, re) }
	if s.Number > 1 {
		d.Prev = to(s.Number - 1)
	}
	if s.Number < s.Slices() {
		d.Next = to(s.Number + 1)
	}
	return Answer{
		Template: "bytes", Title: fmt.Sprintf("%s #%d", Word("view.bytes"), seq), Data: d, JSON: s, Seen: []uint64{seq},
		Crumbs: []Crumb{{Word("screen.exchanges"), d.List}, {"#" + strconv.FormatUint(seq, 10), withQuery(d.Base, re.values())}, {Name: Word("view.bytes")}},
	}, nil
}

// byteLink is the query of the slice that holds a byte.
func byteLink(choice, at int, re manner) string {
	q := re.values()
	if choice > 0 {
		q.Set("choice", strconv.Itoa(choice))
	}
	if at > 0 {
		q.Set("at", strconv.Itoa(at))
	}
	return "bytes?" + q.Encode()
}

func rawLine(c *Console, r *http.Request) (Answer, error) {
	seq, err := eventOf(r)
	if err != nil {
		return Answer{}, err
	}
	line, err := c.source.Line(r.Context(), seq)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Raw: line, Seen: []uint64{seq}, Header: map[string]string{"Content-Type": "text/plain; charset=utf-8"}}, nil
}

// export serves an exchange as one file that needs nothing else.
func export(c *Console, r *http.Request) (Answer, error) {
	x, seq, re, err := c.exchange(r)
	if err != nil {
		return Answer{}, err
	}
	page, err := c.look().export(exchangeData{Exchange: x, View: "export", Now: c.config.Now(), Again: re})
	if err != nil {
		return Answer{}, err
	}
	return Answer{Raw: page, Seen: []uint64{seq}, Action: "export", Header: map[string]string{
		"Content-Type":            "text/html; charset=utf-8",
		"Content-Disposition":     fmt.Sprintf(`attachment; filename="exchange-%d.html"`, seq),
		"Content-Security-Policy": c.look().exportPolicy() + "; sandbox",
	}}, nil
}
