package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/base/sleep"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// errFailed is the error of an invocation all of whose attempts failed.
var errFailed = errors.New("the model cannot be called")

// errFinal marks an invocation that is not worth retrying.
var errFinal = errors.New("for good")

// errReply marks a reply that exceeded its size limit.
var errReply = errors.New("the reply outgrew its limit")

// invocation asks for a reply, with retries, and reads it.
func (t *turn) invocation(ctx context.Context, q model.Request, purpose string) error {
	if err := t.room(ctx, &q); err != nil {
		return err
	}
	series := t.Limits.attempts().Start()
	for attempt := 1; ; attempt++ {
		t.after = 0
		err := t.attempt(ctx, q, purpose, attempt)
		if err == nil || !errors.Is(err, errFailed) || t.left.hit(t) != "" {
			return err
		}
		wait, again := series.Next(retry.Verdict{Again: !errors.Is(err, errFinal), After: t.after})
		if !again {
			return err
		}
		if t.journal.live() && sleep.For(ctx, wait) != nil {
			return ctx.Err()
		}
	}
}

// attempt takes one invocation from the journal, or makes it and records it.
func (t *turn) attempt(ctx context.Context, q model.Request, purpose string, attempt int) error {
	t.metrics.Invocations++
	for _, m := range q.Messages {
		t.metrics.PromptBytes += weight(m)
	}
	i := Invocation{Model: t.Model, API: t.API, Purpose: purpose, Attempt: attempt, Messages: q.Messages}
	ctx, i.IDs = t.below(ctx, "model", t.metrics.Invocations)
	x := i.Payload()
	open, err := t.passOutages(ctx)
	if err != nil {
		return err
	}
	past, e, err := t.journal.recall(t.Run, t.Cycle, x)
	if err != nil {
		return err
	}
	if past != nil {
		x = past.(record.Invocation)
		t.ref = refOf(e)
		return t.accept(&q, x, nil)
	}
	point("before model")
	_, err = t.through(ctx, open, func() (heard bool, failure error) {
		t.call(ctx, q, &i)
		return i.Reading != nil, i.Err
	})
	switch {
	case ctx.Err() != nil && !t.journal.cutOff():
		return ctx.Err() // it is asked for again when the run is resumed
	case err != nil && ctx.Err() == nil:
		return err
	}
	point("after model")
	if e, ok := errors.AsType[*model.Error](i.Err); ok {
		t.after = e.RetryAfter
	}
	x = i.Payload()
	x.Parameters, x.Tools = settingsOf(t.Model, &q)
	if i.Reading != nil {
		x.Replies[0].Segments = t.segments(i.Reading, i.Reply.Calls)
	}
	if f := t.Observer.OnReply; f != nil && i.Reading != nil && i.Err != nil {
		f(deliverable(t.Grammar, i.Reading), false)
	}
	if t.ref, err = t.journal.put(ctx, t.Run, t.Cycle, x); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return t.accept(&q, x, i.Reading)
}

// accept continues with an invocation as it is recorded. The reading is nil if the
// reply must be read again.
func (t *turn) accept(q *model.Request, x record.Invocation, reading *sotto.Reply) error {
	t.took.Time += time.Duration(x.Millis) * time.Millisecond
	t.took.Calls++
	before := t.metrics
	if len(x.Replies) == 0 {
		t.metrics.Unanswered++
	} else {
		r := x.Replies[0]
		if reading == nil {
			var err error
			if reading, err = t.Grammar.ParseWith(string(r.Raw.Text), sotto.Options{Start: r.Start, Tools: r.Tools}, r.End); err != nil {
				return err
			}
		}
		t.reply, t.reading = replyOf(r), reading
		countReply(&t.metrics, t.reply, t.segments(reading, t.reply.Calls))
	}
	if u := usageOf(t.reply, x); u != nil {
		t.spend(u, t.metrics.ThoughtBytes-before.ThoughtBytes, t.metrics.ReplyBytes-before.ReplyBytes)
		t.metrics.LargestPrompt = t.window.count(promptBytes(q), u, t.metrics.LargestPrompt)
	}
	t.failure = x.Error
	switch {
	case x.Final:
		return fmt.Errorf("%w %w: %s", errFailed, errFinal, x.Error)
	case x.Error != "" || len(x.Replies) == 0:
		return fmt.Errorf("%w: %s", errFailed, x.Error)
	}
	return nil
}

// maxTokens is the highest token count that a server can report for one invocation
// and be believed.
const maxTokens = 1 << 32

// usageOf returns the tokens of an invocation. If a reply came, whole or cut, and
// the server did not count its tokens, or counted an impossible number, they are
// estimated. An invocation to which nothing came has the tokens that were counted,
// and nil if none were: a server that was not reached read nothing.
func usageOf(reply model.Reply, x record.Invocation) *record.Usage {
	u := record.Usage{Input: reply.Usage.Input, Output: reply.Usage.Output, Reasoning: reply.Usage.Reasoning, CacheRead: reply.Usage.CacheRead, CacheWrite: reply.Usage.CacheWrite}
	if x.Usage != nil { // it was recorded
		u = *x.Usage
	}
	possible := func(n int64) bool { return n > 0 && n <= maxTokens }
	if len(x.Replies) == 0 {
		if !possible(u.Input) && !possible(u.Output) {
			return nil
		}
		return &u
	}
	if !possible(u.Input) {
		bytes := 0
		for _, m := range x.Messages {
			bytes += len(m.Text.Text)
		}
		u.Input, u.Estimated = about(bytes), true
	}
	if !possible(u.Output) {
		u.Output, u.Estimated = about(weight(reply.Message())), true
	}
	return &u
}

// call asks the model and shows the reply as it becomes certain. If a thought came
// before any text, the text begins outside.
func (t *turn) call(ctx context.Context, q model.Request, i *Invocation) {
	limit, late := t.Limits.ReplyTime, fmt.Errorf("%w: within %v", errSlow, t.Limits.ReplyTime)
	if left := t.left.time(t); left > 0 && left < limit {
		limit, late = left, fmt.Errorf("no whole reply within %v, which was left of the time of the run", left)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, late)
	defer cancel()
	l := listener{turn: t, callable: t.callable(&q), began: time.Now()}
	i.Reply, i.Err = t.Model.Invoke(ctx, q, l.hear)
	i.Took = time.Since(l.began)
	if cause := context.Cause(ctx); i.Err != nil && cause != nil {
		i.Err = cause
	}
	if i.Err != nil && i.Reply.Raw == "" && len(i.Reply.Thoughts) == 0 && len(i.Reply.Calls) == 0 {
		return
	}
	if i.Err != nil {
		i.Reply.End = sotto.EndAborted
	}
	var err error
	if i.Reading, err = l.end(i.Reply); err != nil {
		i.Err = err
	}
	i.FirstThought, i.FirstAnswer = l.thought, l.answer
}

// end reads the whole of a reply that has been heard.
func (l *listener) end(reply model.Reply) (*sotto.Reply, error) {
	if l.filter == nil {
		l.open(len(reply.Thoughts) > 0)
	}
	reading, err := l.Grammar.ParseWith(reply.Raw, l.options(l.start), reply.End)
	if err != nil {
		return nil, err
	}
	if l.unclosed(l.start, reading) {
		return l.Grammar.ParseWith(reply.Raw, l.options(sotto.BeginInsideFirst), reply.End)
	}
	l.filter.Close(reply.End)
	return reading, nil
}

// settingsOf returns what the record keeps of how a request sets the model, and of
// the tools that it offers. The members of Ollama's options stand beside the others.
func settingsOf(m model.Model, q *model.Request) (set record.Content, tools []record.Tool) {
	members := map[string]any{}
	if q.MaxTokens > 0 {
		members["max_tokens"] = q.MaxTokens
	}
	if q.Temperature != nil {
		members["temperature"] = *q.Temperature
	}
	if q.Seed != nil {
		members["seed"] = *q.Seed
	}
	if len(q.Stop) > 0 {
		members["stop"] = q.Stop
	}
	if q.Think != "" {
		members["think"] = q.Think
	}
	if q.NoCalls {
		members["tool_choice"] = "none"
	}
	if e, ok := m.(model.Extender); ok {
		_ = json.Unmarshal(e.Extended(), &members) // model.Open has checked that it is an object
		if options, ok := members["options"].(map[string]any); ok {
			delete(members, "options")
			maps.Copy(members, options)
		}
	}
	if text, err := json.Marshal(members); err == nil && len(members) > 0 {
		set = record.Say(string(text))
	}
	for _, t := range q.Tools {
		text, _ := json.Marshal(t) // a schema that is not JSON is not sent either
		tools = append(tools, record.Tool{Name: t.Name, Digest: record.DigestOf(string(text)).String()})
	}
	return set, tools
}

// unclosed reports whether a reply may be one thought that was cut before its
// close: the template of its family opens a block, and nothing closed one.
// Otherwise such a reply would be read as all visible. If someone else reads the
// answer, that also holds for families whose templates nobody knows.
func (t *turn) unclosed(start sotto.Beginning, r *sotto.Reply) bool {
	d := t.Grammar.Dialect()
	if start != sotto.BeginAuto || r.End == sotto.EndStopped {
		return false
	}
	if (d.PreOpens == "yes" || d.PreOpens == "prompt") && len(r.RawOf(sotto.ChannelReasoning)) == 0 {
		return true
	}
	unknown := d.PreOpens != "no" || d.Name == sotto.Default().Dialect().Name // the default dialect serves families that are not known
	marked := slices.ContainsFunc(r.Segments, func(s sotto.Segment) bool { return s.Channel != sotto.ChannelText })
	return t.withhold && r.End != sotto.EndUnknown && unknown && !marked
}

// A listener receives a reply as it comes.
type listener struct {
	*turn
	filter *sotto.Filter
	start  sotto.Beginning
	// callable are the names of the tools that the model may call.
	callable []string
	bytes    int
	native   bool

	began           time.Time
	thought, answer time.Duration // when the first of each came; zero before
}

func (l *listener) options(start sotto.Beginning) sotto.Options {
	return sotto.Options{Start: start, Tools: l.callable}
}

// callable returns the names of the tools that a model may call, by the API or in its
// text.
func (t *turn) callable(q *model.Request) []string {
	names := make([]string, 0, len(q.Tools))
	if q.NoCalls {
		return names
	}
	for _, tool := range q.Tools {
		names = append(names, tool.Name)
	}
	if t.Calls == TextCalls && !t.closing {
		for _, tool := range t.box.list {
			names = append(names, tool.Spec().Name)
		}
	}
	return names
}

// came notes when something came first.
func (l *listener) came(first *time.Duration, text string) {
	if *first == 0 && strings.TrimSpace(text) != "" {
		*first = max(time.Since(l.began), 1)
	}
}

func (l *listener) open(native bool) {
	l.start = l.Start
	if native {
		l.start = sotto.BeginOutside
	}
	f, err := l.Grammar.NewFilter(l.options(l.start))
	if err != nil {
		panic(fmt.Sprintf("agent: unreachable: a checked start: %v", err))
	}
	onText, onReasoning := l.Observer.OnText, inBlocks(l.Observer.OnReasoning)
	f.OnText = func(text string) {
		l.came(&l.answer, text)
		if onText != nil && !l.template { // else the text may be a reflection, with a thought in it
			onText(text)
		}
	}
	f.OnReasoning = func(block int, text string) {
		l.came(&l.thought, text)
		if onReasoning != nil {
			onReasoning(block, text)
		}
	}
	f.OnNarration = inBlocks(l.Observer.OnNarration)
	l.filter = f
}

// inBlocks passes on the texts of blocks, with a blank line between two blocks.
func inBlocks(on func(text string)) func(block int, text string) {
	if on == nil {
		return nil
	}
	last := 0
	return func(block int, text string) {
		if last != 0 && last != block {
			text = "\n\n" + text
		}
		last = block
		on(text)
	}
}

func (l *listener) hear(d model.Delta) error {
	l.bytes += len(d.Text) + len(d.Thought)
	if d.Call != nil {
		l.bytes += len(d.Call.Arguments)
	}
	if l.bytes > l.Limits.Reply {
		return fmt.Errorf("%w of %d bytes", errReply, l.Limits.Reply)
	}
	l.native = l.native || d.Thought != ""
	if on := l.Observer.OnDelta; on != nil {
		on()
	}
	l.came(&l.thought, d.Thought)
	if on := l.Observer.OnReasoning; on != nil && d.Thought != "" {
		on(d.Thought)
	}
	if d.Text != "" {
		if l.filter == nil {
			l.open(l.native)
		}
		l.filter.Feed(d.Text)
	}
	return nil
}

// millis rounds up, so that a short time does not count as zero.
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

func recordMessages(list []model.Message) []record.Message {
	out := make([]record.Message, len(list))
	for i, m := range list {
		out[i] = record.Message{Role: string(m.Role), Text: record.Say(m.Text), Reasoning: recordThoughts(m.Thoughts), ToolCalls: recordCalls(m.Calls), CallID: m.CallID}
	}
	return out
}

func recordThoughts(list []model.Thought) []record.Thought {
	var out []record.Thought
	for _, x := range list {
		out = append(out, record.Thought{Field: x.Field, Text: record.Say(x.Text), Sealed: x.Sealed, Raw: record.Say(string(x.Raw)), At: x.At})
	}
	return out
}

func recordCalls(list []model.Call) []record.Call {
	var out []record.Call
	for _, c := range list {
		out = append(out, record.Call{ID: c.ID, Name: c.Name, Arguments: record.Say(c.Arguments), Extra: record.Say(string(c.Extra))})
	}
	return out
}

func recordReply(r model.Reply, reading *sotto.Reply) record.Reply {
	out := record.ReplyOf(reading)
	out.Reasoning, out.ToolCalls, out.Finish = recordThoughts(r.Thoughts), recordCalls(r.Calls), r.Finish
	return out
}

// replyOf returns a recorded reply as its model gave it.
func replyOf(r record.Reply) model.Reply {
	out := model.Reply{Raw: string(r.Raw.Text), End: r.End, Finish: r.Finish}
	for _, x := range r.Reasoning {
		out.Thoughts = append(out.Thoughts, model.Thought{Field: x.Field, Text: string(x.Text.Text), Sealed: x.Sealed, Raw: rawOf(x.Raw), At: x.At})
	}
	for _, c := range r.ToolCalls {
		out.Calls = append(out.Calls, model.Call{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments.Text), Extra: rawOf(c.Extra)})
	}
	return out
}

func rawOf(c record.Content) json.RawMessage {
	if c.Text == "" {
		return nil
	}
	return json.RawMessage(c.Text)
}
