package console

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/agents/pending"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/sleep"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/console/talk"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/model"
)

const (
	// maxTalks and maxTalksEach bound the replies under way: of all viewers, and of one.
	maxTalks     = 32
	maxTalksEach = 8
	// maxMessage, maxAttached and maxFiles bound a message: the bytes of its text, those
	// of a file, and the files. maxSend bounds the request.
	maxMessage  = 256 << 10
	maxAttached = 256 << 10
	maxFiles    = 8
	maxSend     = 4 << 20
	maxModel    = 256
	// talkWrite is how long the browser may take to receive a line.
	talkWrite = 30 * time.Second
	// keepWait is how long a change waits while another one is kept.
	keepWait = 5 * time.Second
)

// talks are the replies under way.
type talks struct {
	client *talk.Client
	kept   *conversation.Store
	slots  *access.Slots
	now    func() time.Time
	done   chan struct{}
	once   sync.Once
	// writing are the replies that are not kept yet.
	writing underWay

	mu    sync.Mutex
	stops map[string]context.CancelFunc // by the name of the reply under way
}

func newTalks(c *Chat, now func() time.Time) *talks {
	t := &talks{slots: access.NewSlots(maxTalks, maxTalksEach), now: now, done: make(chan struct{}), stops: map[string]context.CancelFunc{}}
	if c != nil {
		t.client, t.kept = &talk.Client{Gateway: c.Gateway, Now: now}, c.Kept
	}
	return t
}

func (t *talks) close() { t.once.Do(func() { close(t.done) }) }

// begin returns a context for a reply, and the name by which it can be stopped.
func (t *talks) begin(ctx context.Context) (_ context.Context, name string, end func()) {
	ctx, stop := context.WithCancel(ctx)
	name = rand.Text()
	t.mu.Lock()
	t.stops[name] = stop
	t.mu.Unlock()
	go func() {
		select {
		case <-t.done:
			stop()
		case <-ctx.Done():
		}
	}()
	return ctx, name, func() {
		stop()
		t.mu.Lock()
		delete(t.stops, name)
		t.mu.Unlock()
	}
}

// stop stops a reply.
func (t *talks) stop(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	stop, ok := t.stops[name]
	if ok {
		stop()
	}
	return ok
}

// change adds a change to a conversation, and waits while another one does.
func (t *talks) change(ctx context.Context, caller, id string, f func(*conversation.File) (conversation.Change, error)) error {
	for end := time.Now().Add(keepWait); ; {
		err := t.kept.Change(caller, id, f)
		if !errors.Is(err, conversation.ErrBusy) || time.Now().After(end) || sleep.For(ctx, 10*time.Millisecond) != nil {
			return err
		}
	}
}

// A sent message is what the page asks for.
type sent struct {
	// ID is the conversation; "new" begins one. After is the message that the text
	// follows, or that it is edited from if Edits is set, or the user's message that is
	// answered again if Again is set.
	ID    string `json:"id"`
	After int    `json:"after"`
	Edits bool   `json:"edits"`
	Again bool   `json:"again"`

	Text  string                    `json:"text"`
	Files []conversation.Attachment `json:"files"`
	Model string                    `json:"model"`
	Think talk.Thinking             `json:"think"`
}

// readJSON reads the body of a request.
func readJSON(r *http.Request, v any) error {
	data, err := files.ReadAll(r.Body, maxSend)
	if err != nil {
		return BadRequest{fmt.Errorf("the request cannot be read: %w", err)}
	}
	if err := foreignjson.Check(data); err != nil {
		return BadRequest{fmt.Errorf("the request %w", err)}
	}
	if err := json.Unmarshal(data, v); err != nil {
		return BadRequest{errors.New("the request does not have the members of a message")}
	}
	return nil
}

// check reports what is wrong with a message.
func (s *sent) check() error {
	bad := func(format string, args ...any) error { return BadRequest{fmt.Errorf(format, args...)} }
	switch {
	case s.Model == "" || len(s.Model) > maxModel || !utf8.ValidString(s.Model):
		return bad("model: choose a model")
	case s.Think != talk.AsUsual && s.Think != talk.On && s.Think != talk.Off:
		return bad("think: want on or off")
	case s.Again:
		return nil
	case strings.TrimSpace(s.Text) == "" && len(s.Files) == 0:
		return bad("text: the message is empty")
	case len(s.Text) > maxMessage:
		return bad("text: the message is longer than %d bytes: attach it as a file", maxMessage)
	case len(s.Files) > maxFiles:
		return bad("files: want at most %d", maxFiles)
	}
	for i, f := range s.Files {
		s.Files[i].Name = shorttext.Cut(strings.TrimSpace(f.Name), 200)
		if len(f.Text) > maxAttached || !utf8.ValidString(f.Text) || strings.ContainsRune(f.Text, 0) {
			return bad("%s: want a text file of at most %d bytes", shorttext.Quote(s.Files[i].Name), maxAttached)
		}
	}
	return nil
}

// place finds the message of the user that is answered. If it is a new one, it returns it
// with the message that it follows.
func (s *sent) place(all []conversation.Message) (number int, add *conversation.Message, err error) {
	if s.After < 0 || s.After > len(all) || (s.Again || s.Edits) && (s.After == 0 || all[s.After-1].Role != model.User) {
		return 0, nil, BadRequest{fmt.Errorf("after: message %d is not one of this conversation to answer", s.After)}
	}
	if s.Again {
		return s.After, nil, nil
	}
	m := &conversation.Message{Role: model.User, Text: s.Text, Files: s.Files, Parent: s.After}
	switch {
	case s.Edits:
		m.Parent, m.Files = all[s.After-1].Parent, slices.Concat(all[s.After-1].Files, s.Files)
	case s.After > 0 && all[s.After-1].Role == model.User:
		// The page did not see the reply, since it was left or its connection broke. What is
		// said after a question follows the reply to it.
		m.Parent = cmp.Or(newestReply(all, s.After), s.After)
	}
	return len(all) + 1, m, nil
}

// errAnswering is the error of a message that follows one that is being answered.
var errAnswering = fmt.Errorf("a reply to that message is being written: %w", conversation.ErrBusy)

// keepQuestion keeps the user's message, and returns the conversation with it.
func (c *Console) keepQuestion(ctx context.Context, owner string, s *sent) (all []conversation.Message, number int, err error) {
	if s.ID == newTalk {
		s.After, s.Again, s.Edits = 0, false, false
		_, m, err := s.place(nil)
		if err != nil {
			return nil, 0, err
		}
		m.At = c.config.Now().UTC()
		s.ID, err = c.config.Chat.Kept.Create(owner, talkAgent, conversation.Change{Add: []conversation.Message{*m}})
		return []conversation.Message{*m}, 1, err
	}
	if s.Again {
		f, err := c.config.Chat.Kept.Get(owner, s.ID)
		if err != nil {
			return nil, 0, err
		}
		number, _, err = s.place(f.Messages)
		return f.Messages, number, err
	}
	if !s.Edits && !c.talks.writing.wait(ctx, question{owner, s.ID, s.After}) {
		return nil, 0, errAnswering
	}
	err = c.talks.change(ctx, owner, s.ID, func(f *conversation.File) (conversation.Change, error) {
		n, m, err := s.place(f.Messages)
		if err != nil {
			return conversation.Change{}, err
		}
		m.At = c.config.Now().UTC()
		number, all = n, append(f.Messages[:len(f.Messages):len(f.Messages)], *m)
		return conversation.Change{Add: []conversation.Message{*m}}, nil
	})
	return all, number, err
}

// prompt is what the model is asked: the branch up to a message.
func prompt(all []conversation.Message, number int) []model.Message {
	var list []conversation.Message
	for _, n := range conversation.Branch(all, number) {
		m := all[n-1]
		for _, f := range m.Files {
			m.Text = strings.TrimSpace(m.Text + "\n\n" + attached(f))
		}
		list = append(list, m)
	}
	return conversation.Prompt(list)
}

// chatSend keeps a message, and streams the reply to it as lines of JSON.
func (c *Console) chatSend(w http.ResponseWriter, r *http.Request) {
	v := viewerOf(r)
	var s sent
	err := readJSON(r, &s)
	if err == nil {
		err = s.check()
	}
	if !v.Talks {
		err = errNoTalk
	}
	if err != nil {
		c.refuseSend(w, r, err)
		return
	}
	slot, err := c.talks.slots.Take(callerOf(v))
	if err != nil {
		w.Header().Set("Retry-After", "5")
		writeJSON(w, http.StatusServiceUnavailable, errorJSON(err.Error()))
		return
	}
	defer slot.GiveBack()
	all, number, err := c.keepQuestion(r.Context(), keeper(v), &s)
	switch {
	case errors.Is(err, conversation.ErrFull):
		err = BadRequest{fmt.Errorf("%w: begin a new chat", err)}
	case errors.Is(err, conversation.ErrBusy), errors.Is(err, conversation.ErrNoRoom):
		writeJSON(w, http.StatusServiceUnavailable, errorJSON(err.Error()+": try again later"))
		return
	}
	if err != nil {
		c.refuseSend(w, r, err)
		return
	}
	c.reply(w, r, &s, all, number, nil)
}

// refuseSend answers a message that is not sent, always as JSON.
func (c *Console) refuseSend(w http.ResponseWriter, r *http.Request, err error) {
	r = r.Clone(r.Context())
	r.URL.RawQuery = url.Values{"format": {"json"}}.Encode()
	c.failed(w, r, "chat", err)
}

// reply lets the model answer, and keeps what it said. p has a turn of an agent that goes on,
// and the answer to its question; it is nil for an answer to a message.
func (c *Console) reply(w http.ResponseWriter, r *http.Request, s *sent, all []conversation.Message, number int, p *pending.Person) {
	v := viewerOf(r)
	ctx, name, end := c.talks.begin(r.Context())
	defer end()
	kept := c.talks.writing.begin(question{keeper(v), s.ID, number})
	defer kept()
	out := newReplyWriter(w, strings.HasPrefix(s.Model, agentPrefix), end)
	out.line(map[string]any{"k": "begin", "id": s.ID, "user": number, "beside": conversation.Beside(all, []int{number})[number], "stop": name})
	p, waits := v.person(p)
	got := c.talks.client.Ask(ctx, talk.Question{Caller: callerOf(v), Model: s.Model, Thinking: s.Think, Messages: prompt(all, number), Person: p}, out.event)
	if p.Turn != nil {
		got.Answers = &conversation.Answers{By: callerOf(v), Agree: p.Answer.Agree, At: c.config.Now().UTC()}
	}
	if t := waits(); t != nil && !got.Stopped {
		c.keepTurn(v, t, &got.Reply)
	}
	m := conversation.Message{Role: model.Assistant, Text: got.Text, Stopped: got.Stopped, Parent: number, At: c.config.Now().UTC(), Reply: new(got.Reply)}
	m.Reply.Record = c.config.Chat.Record
	answered := 0
	var beside []int
	// The reader may be gone, and what was said is kept all the same.
	err := c.talks.change(context.WithoutCancel(r.Context()), keeper(v), s.ID, func(f *conversation.File) (conversation.Change, error) {
		answered = len(f.Messages) + 1
		beside = conversation.Beside(append(f.Messages[:len(f.Messages):len(f.Messages)], m), []int{answered})[answered]
		return conversation.Change{Turn: f.Turn + 1, Add: []conversation.Message{m}}, nil
	})
	kept()
	out.finish()
	got.Model, got.Error, got.Narration, got.Calls, got.Asks = visible.Line(got.Model), visible.Line(got.Error), "", nil, nil // m has them as they are
	last := map[string]any{"k": "end", "n": answered, "beside": beside, "stopped": got.Stopped, "reply": got.Reply, "rate": rate(&got.Reply), "silent": silence(got.Text, got.Stopped, m.Reply)}
	if asks := m.Reply.Asks; asks != nil {
		last["asks"] = Word("ask.asks") + " " + visible.Line(asks.Tool)
	}
	if err != nil {
		last["unkept"] = shorttext.Escape(err.Error(), MaxFault)
		c.config.Log.Error("a reply was not kept", "error", err.Error())
	}
	out.line(last)
}

// chatStop stops a reply under way. Its stream ends with what came.
func (c *Console) chatStop(w http.ResponseWriter, r *http.Request) {
	var s struct {
		Stop string `json:"stop"`
	}
	if err := readJSON(r, &s); err != nil {
		c.refuseSend(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{"v": 1, "stopped": c.talks.stop(s.Stop)})
}

// A replyWriter writes the events of a reply as lines of JSON. An answer is text until a
// block of it is complete, which is then sent as elements.
type replyWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	agent   bool // the reply is that of an agent, whose steps the page asks for
	gone    func()
	cutter  cutter
	escape  [talk.Kinds]visible.Escaper
	calls   map[int]*visible.Escaper
}

func newReplyWriter(w http.ResponseWriter, agent bool, gone func()) *replyWriter {
	h := w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("X-Accel-Buffering", "no")
	return &replyWriter{w: w, control: http.NewResponseController(w), agent: agent, gone: gone, calls: map[int]*visible.Escaper{}}
}

// line sends a line. If the browser does not take it, the reply ends.
func (o *replyWriter) line(v any) {
	data, err := encodeJSON(v)
	if err == nil {
		_ = o.control.SetWriteDeadline(time.Now().Add(talkWrite))
		if _, err = o.w.Write(data); err == nil {
			err = o.control.Flush()
		}
	}
	if err != nil {
		o.gone()
	}
}

// event sends a piece of the reply. No character in it can hide or reorder others.
func (o *replyWriter) event(e talk.Event) {
	e.Text = strings.ToValidUTF8(e.Text, "\uFFFD")
	escape := &o.escape[e.Kind]
	if e.Kind == talk.Call {
		if escape = o.calls[e.Index]; escape == nil {
			escape = &visible.Escaper{}
			o.calls[e.Index] = escape
		}
	}
	shown := string(escape.Append(nil, []byte(e.Text), false))
	switch e.Kind {
	case talk.Text:
		ended := false
		o.cutter.feed(e.Text, func(b block) {
			o.block(b)
			ended = true
		})
		if ended {
			o.escape[talk.Text] = visible.Escaper{}
			shown = string(o.escape[talk.Text].Append(nil, o.cutter.open, false))
		}
		o.line(map[string]any{"k": "text", "s": shown})
	case talk.Thought:
		o.line(map[string]any{"k": "thought", "s": shown, "bytes": len(e.Text)})
	case talk.Narration:
		o.line(map[string]any{"k": "narration", "s": shown})
	case talk.Named:
		if !o.agent {
			return
		}
		o.line(map[string]any{"k": "named", "response": visible.Line(e.Name)})
	case talk.Call:
		o.line(map[string]any{"k": "call", "i": e.Index, "name": visible.Line(e.Name), "s": shown})
	}
}

// block sends a block in place of the text that was open.
func (o *replyWriter) block(b block) { o.line(map[string]any{"k": "block", "nodes": nodesOf(b)}) }

// finish sends what was still open.
func (o *replyWriter) finish() { o.cutter.end(o.block) }

// encodeJSON writes a value and a line end.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
