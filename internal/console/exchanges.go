package console

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

func exchangesScreen() Screen {
	return Screen{
		Path: "exchanges", Key: "e", Icon: "M3 6h11m-3-3 3 3-3 3M17 14H6m3-3-3 3 3 3",
		Routes: map[string]Handler{
			"": list, "find": find, "{event}": one, "{event}/bytes": byteSlice, "{event}/raw": rawLine, "{event}/export": export, "{event}/compare": compareExchanges,
		},
	}
}

// listData is what the list shows.
type listData struct {
	*view.Page
	filter   url.Values // without its cursor, for links
	Chips    []Chip
	Codes    []sotto.Code
	Outcomes []string
	Leaks    []string
	Models   []string // of the rows, to choose from
	Callers  bool     // some row has a caller
	Now      time.Time
	Older    string // the link to the next page
	Newer    string // the link to the page before
	First    bool   // the newest exchanges are on this page
	Orders   []choice
	Sum      string // the link to the list with its totals; "" if it has them
	// Several is what a list of several gateways has of them; nil if it has one record.
	Several *Gathered
	Names   map[string]string // of the gateways, by their records
	// Column is the name of the fact that the list is sorted by, and Own says that it has a
	// column in every list.
	Column string
	Own    bool
}

// Order is the link that sorts the list by a fact; by the least first, if the most are.
func (d listData) Order(key string) choice {
	f := d.Filter.Bare()
	current := string(f.Sort) == key || key == "time" && f.Sort == ""
	f.Least = current && f.Sort != "" && !f.Least
	if f.Sort = view.SortKey(key); key == "time" {
		f.Sort = ""
	}
	c := choice{Name: Word(orderName(key)), Link: withQuery("exchanges", f.Values()), Current: current, Key: key}
	if current && key != "time" {
		c.Arrow = d.Arrow()
	}
	return c
}

// orderName is the name of the text that names a fact.
func orderName(key string) string {
	if key == "leaked" || key == "cached" {
		key += ".fact"
	}
	return "order." + key
}

// Arrow shows which way the list is sorted.
func (d listData) Arrow() string {
	if d.Filter.Least {
		return "↑"
	}
	return "↓"
}

// Fact prints what the list is sorted by.
func (d listData) Fact(n int64) string { return FactText(d.Filter.Sort.Unit(), n) }

// TotalsSay says what the totals of a list are, in words.
func (d listData) TotalsSay() []string {
	t := d.Totals
	list := []string{}
	add := func(n int64, words ...string) {
		if n > 0 {
			list = append(list, strings.Join(words, " "))
		}
	}
	add(int64(t.Failed), number(t.Failed), Word("order.failed"))
	add(int64(t.Leaked), number(t.Leaked), Word("order.leaked"))
	add(t.Thought, size(int(t.Thought)), Word("thought"))
	add(t.Answer, size(int(t.Answer)), strings.ToLower(Word("answer")))
	if t.Input > 0 || t.Output > 0 {
		add(1, number(t.Input)+" → "+counted(t.Output, "run.tokens"))
	}
	add(t.Cached, number(t.Cached), Word("order.cached"))
	add(t.Millis, strings.ToLower(Word("col.took")), millis(t.Millis))
	return list
}

// Link is the address of an exchange of the list, or of the list's first page. It is made
// whole, because html/template takes a query that is put into an address for one value.
func (d listData) Link(event uint64) string {
	if event == 0 {
		return withQuery("exchanges", d.filter)
	}
	return withQuery("exchanges/"+strconv.FormatUint(event, 10), d.filter)
}

// LinkTo is the address of the exchange of a row, and Gateway whose record has it.
func (d listData) LinkTo(row view.Row) string {
	if row.Record == "" {
		return d.Link(row.Event)
	}
	return AtGateway(row.Record) + d.Link(row.Event)
}

// ID tells a row from the others of the page.
func (d listData) ID(row view.Row) string {
	id := "e" + strconv.FormatUint(row.Event, 10)
	if row.Record != "" {
		id += "-" + row.Record
	}
	return id
}

// A Chip is a filter in force, with the link that removes it.
type Chip struct{ Name, Value, Without string }

func list(c *Console, r *http.Request) (Answer, error) {
	f, err := view.ParseFilter(r.URL.Query())
	if err != nil {
		return Answer{}, BadRequest{err}
	}
	if f.Sort != "" || f.Sum {
		if !c.searching(r) {
			return Answer{}, errBusy
		}
		defer c.searched()
	}
	var p *view.Page
	var all *allExchanges
	if c.Several(r) {
		if all, err = c.exchangesOfAll(r, f); err == nil {
			p = all.Page
		}
	} else {
		p, err = c.source.List(r.Context(), f)
	}
	if err != nil {
		return Answer{}, err
	}
	d := listData{Page: p, Codes: codes(), Outcomes: view.Outcomes(), Leaks: view.Leaks(), Now: c.config.Now(), First: p.Filter.Before == 0 && p.Filter.After == 0 && p.Filter.At == 0}
	bare := f.Bare()
	d.filter = bare.Values()
	for _, name := range []string{"text", "model", "route", "caller", "outcome", "diagnostic", "leaked", "from", "to", "id"} {
		if q := bare.Values(); q.Has(name) {
			value := q.Get(name)
			q.Del(name)
			d.Chips = append(d.Chips, Chip{name, value, "exchanges?" + q.Encode()})
		}
	}
	if q := bare.Values(); bare.Sort != "" {
		q.Del("sort")
		d.Chips = append(d.Chips, Chip{strings.ToLower(Word("order.by")), Word(orderName(string(bare.Sort))) + " " + d.Arrow(), withQuery("exchanges", q)})
	}
	d.order(bare)
	if p.Older > 0 {
		q := bare
		q.Before = p.Older
		d.Older = "exchanges?" + q.Values().Encode()
	}
	if p.Newer > 0 {
		q := bare
		q.After = p.Newer
		d.Newer = "exchanges?" + q.Values().Encode()
	}
	var data any = p
	if all != nil {
		data = all
		d.Several, d.Names, d.First = all.gathered, all.gathered.Names(), all.gathered.Cursor == nil
		d.Newer, d.Older = "", ""
		if all.Next != "" {
			q := bare.Values()
			q.Set("cursor", all.Next)
			d.Older = "exchanges?" + q.Encode()
		}
	}
	seen := map[string]bool{}
	for _, row := range p.Rows {
		d.Callers = d.Callers || row.Caller != ""
		if !seen[row.Model] && row.Model != "" {
			seen[row.Model] = true
			d.Models = append(d.Models, row.Model)
		}
	}
	return Answer{
		Template: "exchanges", Title: Word("screen.exchanges"), Crumbs: []Crumb{{Name: Word("screen.exchanges")}},
		Data: d, JSON: data, Live: d.First && f.Sort == "" && !f.Sum && all == nil,
	}, nil
}

// shownFacts are the facts that have a column of their own.
var shownFacts = []view.SortKey{"thought", "took"}

// order adds the links that sort the list, and those to its other pages if it is sorted.
func (d *listData) order(bare view.Filter) {
	d.Orders = append(d.Orders, d.Order("time"))
	for _, k := range view.SortKeys() {
		d.Orders = append(d.Orders, d.Order(string(k)))
	}
	if bare.Sort == "" {
		if q := bare; !q.Sum {
			q.Sum = true
			d.Sum = "exchanges?" + q.Values().Encode()
		}
		return
	}
	d.Column, d.Own = Word(orderName(string(bare.Sort))), slices.Contains(shownFacts, bare.Sort)
	at := func(n int) string {
		q := bare
		q.At = n
		return "exchanges?" + q.Values().Encode()
	}
	now := d.Page.Filter.At
	if d.More && now+2*view.Rows <= view.MaxSorted {
		d.Older = at(now + view.Rows)
	}
	if now > 0 {
		d.Newer = at(max(0, now-view.Rows))
	}
}

// find opens the newest exchange with an identifier that an application knows.
func find(c *Console, r *http.Request) (Answer, error) {
	id := r.URL.Query().Get("id")
	if id == "" || len(id) > MaxAsked {
		return Answer{}, BadRequest{errors.New("id: want the id of a response, or one that the client sent")}
	}
	row, err := c.source.Find(r.Context(), id)
	cycles := ""
	if run, turn, ok := turnOf(id); ok && errors.Is(err, view.ErrElsewhere) {
		if found, inRun := c.source.Find(r.Context(), run); inRun == nil && found.Run == run {
			row, err, cycles = found, nil, "?from="+turn+"&to="+turn
		}
	}
	at := ""
	switch {
	case errors.Is(err, view.ErrElsewhere):
		at, err = c.elsewhere(r, id, err)
	case err == nil && c.Several(r):
		at = c.config.Peers.Record()
	}
	if err != nil {
		return Answer{}, err
	}
	if at != "" { // there, whichever console is asked
		return Answer{Redirect: "../" + AtGateway(at) + "exchanges/find?" + r.URL.RawQuery}, nil
	}
	n := strconv.FormatUint(row.Event, 10)
	if row.Type == record.TypeExchange && strings.HasPrefix(row.Model, agentPrefix) && c.hasSteps() && !WantsJSON(r) {
		if _, err := c.config.Extension.Steps(r.Context(), id); err == nil { // what the agent did says more than what the gateway passed on
			if run, turn, ok := turnOf(id); ok {
				return Answer{Redirect: "../runs/" + RunToken(run) + "?from=" + turn + "&to=" + turn}, nil
			}
			return Answer{Redirect: "../runs/" + RunToken(id)}, nil
		}
	}
	switch {
	case row.Type != record.TypeInvocation || WantsJSON(r) || !c.has("runs"):
		return Answer{Redirect: besides(r, n)}, nil
	case cycles == "":
		cycles = "?at=" + n + "#e" + n
	}
	return Answer{Redirect: "../runs/" + RunToken(row.Run) + cycles}, nil // the answer of an agent is a run
}

// turnOf divides the identifier of an agent's answer into the run of the conversation and
// the turn.
func turnOf(id string) (run, turn string, ok bool) {
	at := strings.LastIndexByte(id, '.')
	if at <= 0 {
		return "", "", false
	}
	n, err := strconv.Atoi(id[at+1:])
	return id[:at], strconv.Itoa(n), err == nil && n > 0
}

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

// curl is a command that sends the prompt of an exchange again, with its parameters and
// tools, as far as the record has them. The record has no key.
func curl(x *view.Exchange) string {
	if x.Upstream == "" || x.Path == "" || len(x.Prompt) == 0 {
		return ""
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body := map[string]any{"model": x.Model, "stream": x.Streamed}
	if !settings(body, x) {
		return ""
	}
	var messages []message
	var prompt strings.Builder
	for _, m := range x.Prompt {
		if m.Text.Cut || x.MoreMessages > 0 {
			return ""
		}
		messages = append(messages, message{m.Role, string(m.Text.Text)})
		prompt.WriteString(string(m.Text.Text))
	}
	switch { // by the path, which every API of a family shares
	case strings.HasSuffix(x.Path, "/responses"):
		body["input"] = messages
	case strings.HasSuffix(x.Path, "/generate"), strings.HasSuffix(x.Path, "/completions") && !strings.HasSuffix(x.Path, "/chat/completions"):
		body["prompt"] = prompt.String()
	case strings.HasSuffix(x.Path, "/messages"):
		if body["max_tokens"] == nil {
			body["max_tokens"] = 4096
		}
		if messages[0].Role == "system" {
			body["system"], messages = messages[0].Content, messages[1:]
		}
		body["messages"] = messages
	default:
		body["messages"] = messages
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(body) != nil {
		return ""
	}
	url := strings.TrimRight(x.Upstream, "/") + x.Path
	return "curl -sS " + quoted(url) + " \\\n  -H 'Content-Type: application/json' \\\n  -d " + quoted(strings.TrimSpace(b.String()))
}

// settings adds the parameters and the tools of a request to a body. ok is false if
// not all of them are there.
func settings(body map[string]any, x *view.Exchange) (ok bool) {
	for _, p := range x.Parameters {
		if p.Value.Cut {
			return false
		}
		body[p.Name] = json.RawMessage(p.Value.Text)
	}
	var tools []json.RawMessage
	for _, t := range x.Tools {
		if t.Digest != "" || t.Definition.Cut || !json.Valid([]byte(t.Definition.Text)) {
			return false
		}
		tools = append(tools, json.RawMessage(t.Definition.Text))
	}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	return x.MoreTools == 0
}

// quoted quotes a word for a POSIX shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
