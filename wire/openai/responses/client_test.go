package responses_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/sse"
	"github.com/sotto-llm/sotto/wire"
)

// A reader is a wire.Reader as plain as can be: a splitter per choice.
type reader struct {
	grammar *sotto.Grammar
	start   sotto.Beginning
	hide    bool // reasoning goes nowhere
	tags    bool // native reasoning goes inline

	open           map[int]*sotto.Splitter
	thinking       bool // inside the tags
	parts          []wire.Part
	reasoning, all int
}

func newReader(start sotto.Beginning) *reader {
	return &reader{grammar: sotto.Default(), start: start, open: map[int]*sotto.Splitter{}}
}

func (r *reader) splitter(choice int) *sotto.Splitter {
	s := r.open[choice]
	if s == nil {
		var err error
		if s, err = r.grammar.NewSplitter(sotto.Options{Start: r.start}); err != nil {
			panic(err)
		}
		r.open[choice] = s
	}
	return s
}

func (r *reader) Text(choice int, text []byte) []wire.Part {
	r.all += len(text)
	r.parts = r.parts[:0]
	if r.thinking {
		r.thinking = false
		r.parts = append(r.parts, wire.Part{Text: []byte("</think>")})
	}
	return r.sort(r.splitter(choice).Feed(text))
}

func (r *reader) sort(pieces []sotto.Piece) []wire.Part {
	for _, p := range pieces {
		place := wire.Content
		switch p.Channel {
		case sotto.ChannelMarkup:
			continue
		case sotto.ChannelReasoning:
			r.reasoning += len(p.Bytes)
			if r.hide {
				continue
			}
			place = wire.Reasoning
		case sotto.ChannelNarration:
			place = wire.Narration
		}
		r.parts = append(r.parts, wire.Part{Place: place, Text: p.Bytes})
	}
	return r.parts
}

func (r *reader) Native(choice int, text []byte) []wire.Part {
	r.all += len(text)
	r.splitter(choice)
	r.parts = r.parts[:0]
	switch {
	case r.hide:
	case r.tags && !r.thinking:
		r.thinking = true
		r.parts = append(r.parts, wire.Part{Text: []byte("<think>")}, wire.Part{Text: text})
	case r.tags:
		r.parts = append(r.parts, wire.Part{Text: text})
	default:
		r.parts = append(r.parts, wire.Part{Place: wire.Reasoning, Text: text})
	}
	return r.parts
}

func (r *reader) Found(f wire.Event) []wire.Part {
	switch {
	case f.Kind == wire.EventText:
		return r.Text(f.Choice, f.Text)
	case f.Kind == wire.EventThought && !f.Again, f.Kind == wire.EventDetails && len(f.Text) > 0:
		return r.Native(f.Choice, f.Text)
	case f.Kind == wire.EventMember, f.Kind == wire.EventRefusal:
		return []wire.Part{{Text: f.Text}}
	}
	return nil
}

func (r *reader) Close(choice int, end sotto.Ending) []wire.Part {
	r.parts = r.parts[:0]
	s := r.open[choice]
	if s == nil {
		return nil
	}
	delete(r.open, choice)
	if r.thinking {
		r.thinking = false
		r.parts = append(r.parts, wire.Part{Text: []byte("</think>")})
	}
	return r.sort(s.Close(end))
}

func (r *reader) Fail(error) {}

func (r *reader) Open() (open []int) {
	for c := range r.open {
		open = append(open, c)
	}
	slices.Sort(open)
	return open
}

func (*reader) Finish(sotto.Ending) ([]wire.Part, error) { return nil, nil }
func (*reader) Findings() string                         { return "" }
func (r *reader) Share() (reasoning, all int)            { return r.reasoning, r.all }

// framesOf cuts a stream.
func framesOf(stream string) (frames []wire.Frame) {
	var s sse.Scanner
	for b := []byte(stream); ; {
		f, ok := s.Next(b)
		if !ok {
			return frames
		}
		b = b[len(f.Raw):]
		f.Data = slices.Clone(f.Data) // of several lines it is the scanner's
		frames = append(frames, wire.Frame(f))
	}
}

// A client holds a stream to the rules by which clients read it, and
// puts the output together in the three ways that they do: from deltas, from the
// ends of items, from the end of the response.
type client struct {
	t     testing.TB
	seq   int
	items map[int]*clientItem
	final map[string]any // the response at its end
	err   map[string]any // an error
}

type clientItem struct {
	id, kind string
	parts    map[string]*clientPart
	args     string
	done     map[string]any
}

type clientPart struct {
	kind, text string
	added      bool
	doneText   *string
	donePart   map[string]any
}

func readStream(t testing.TB, stream string) *client {
	t.Helper()
	c := &client{t: t, seq: -1, items: map[int]*clientItem{}}
	for _, f := range framesOf(stream) {
		if f.Data != nil {
			c.event(f)
		}
	}
	for i := range len(c.items) {
		if c.items[i] == nil {
			c.fail("no item %d of %d", i, len(c.items))
		}
	}
	return c
}

func (c *client) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf(format, args...)
}

func (c *client) event(f wire.Frame) {
	c.t.Helper()
	var e map[string]any
	if err := json.Unmarshal(f.Data, &e); err != nil {
		c.fail("%v in %s", err, f.Data)
	}
	kind := e["type"].(string)
	if string(f.Type) != kind {
		c.fail("event %q of type %q", f.Type, kind)
	}
	if seq := int(e["sequence_number"].(float64)); seq != c.seq+1 {
		c.fail("number %d after %d: %s", seq, c.seq, f.Data)
	}
	c.seq++
	if c.final != nil || c.err != nil {
		c.fail("%s after the end", kind)
	}
	switch kind {
	case "error":
		c.err = e
	case "response.completed", "response.incomplete", "response.failed":
		c.final = e["response"].(map[string]any)
	case "response.created", "response.in_progress":
	default:
		c.itemEvent(strings.TrimPrefix(kind, "response."), e)
	}
}

func (c *client) itemEvent(kind string, e map[string]any) {
	c.t.Helper()
	i := int(e["output_index"].(float64))
	it := c.items[i]
	item, _ := e["item"].(map[string]any)
	if kind == "output_item.added" {
		if it != nil || i != len(c.items) {
			c.fail("item %d begins as the %d.", i, len(c.items))
		}
		if content, _ := item["content"].([]any); item["type"] == "message" && (len(content) > 0 || item["status"] == "completed") {
			c.fail("item %d begins as %v", i, item)
		}
		c.items[i] = &clientItem{id: item["id"].(string), kind: item["type"].(string), parts: map[string]*clientPart{}}
		return
	}
	if it == nil {
		c.fail("%s of item %d, which did not begin", kind, i)
	}
	id := e["item_id"]
	if item != nil {
		id = item["id"]
	}
	if id != it.id || it.done != nil {
		c.fail("%s of %v at %d, which is %s", kind, id, i, it.id)
	}
	switch kind {
	case "output_item.done":
		it.done = item
	case "function_call_arguments.delta":
		it.args += e["delta"].(string)
	case "function_call_arguments.done":
		if e["arguments"] != it.args {
			c.fail("arguments %v, not %s", e["arguments"], it.args)
		}
	default:
		c.partEvent(it, kind, e)
	}
}

func (c *client) partEvent(it *clientItem, kind string, e map[string]any) {
	c.t.Helper()
	key := fmt.Sprint("content ", e["content_index"])
	if strings.Contains(kind, "summary") {
		key = fmt.Sprint("summary ", e["summary_index"])
	}
	p := it.parts[key]
	if strings.HasSuffix(kind, "part.added") {
		if p != nil {
			c.fail("%s of %s twice", key, it.id)
		}
		part := e["part"].(map[string]any)
		it.parts[key] = &clientPart{kind: part["type"].(string), text: part["text"].(string), added: true}
		return
	}
	if p == nil || p.donePart != nil {
		c.fail("%s of %s %s, which is not open", kind, it.id, key)
	}
	switch {
	case strings.HasSuffix(kind, "part.done"):
		p.donePart = e["part"].(map[string]any)
	case strings.HasSuffix(kind, "text.delta"):
		p.text += e["delta"].(string)
	case strings.HasSuffix(kind, "text.done"):
		text := e["text"].(string)
		p.doneText = &text
	default:
		c.fail("event %s", kind)
	}
}

// check holds the ends of parts, of items and of the response to the deltas.
func (c *client) check() {
	c.t.Helper()
	if c.final == nil {
		c.fail("no end of the response")
	}
	output := c.final["output"].([]any)
	if len(output) != len(c.items) {
		c.fail("%d items in the end, %d before: %v", len(output), len(c.items), output)
	}
	for i, o := range output {
		it := c.items[i]
		if it.done == nil {
			c.fail("item %d did not end", i)
		}
		if got, want := fmt.Sprint(o), fmt.Sprint(any(it.done)); got != want {
			c.fail("item %d:\n%s in the end\n%s before", i, got, want)
		}
		for key, p := range it.parts {
			c.checkPart(it, key, p)
		}
	}
}

func (c *client) checkPart(it *clientItem, key string, p *clientPart) {
	c.t.Helper()
	list, index, _ := strings.Cut(key, " ")
	var n int
	_, _ = fmt.Sscan(index, &n)
	whole := it.done[list].([]any)[n].(map[string]any)
	if p.doneText == nil || *p.doneText != p.text || p.donePart["text"] != p.text || whole["text"] != p.text {
		c.fail("%s %s: %q as deltas, %v, %v, %v", it.id, key, p.text, p.doneText, p.donePart, whole)
	}
	if p.donePart["type"] != p.kind || whole["type"] != p.kind {
		c.fail("%s %s: types %s, %v, %v", it.id, key, p.kind, p.donePart, whole)
	}
}

// saidIn lists the items of an output in short.
func saidIn(output any) string {
	var b strings.Builder
	for _, o := range output.([]any) {
		it := o.(map[string]any)
		fmt.Fprintf(&b, "%v:", it["type"])
		for _, list := range []string{"summary", "content"} {
			parts, _ := it[list].([]any)
			for _, p := range parts {
				fmt.Fprintf(&b, "%q", p.(map[string]any)["text"])
			}
		}
		if args, ok := it["arguments"]; ok {
			fmt.Fprint(&b, args)
		}
		if s := it["status"]; s != nil && s != "completed" {
			fmt.Fprintf(&b, "(%v)", s)
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}
