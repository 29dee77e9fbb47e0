package model

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/base/sleep"
)

// Scripted is a model that plays a [Script]. It needs no server and no network, and
// gives the same reply to the same request.
type Scripted struct {
	name   string
	script *Script
}

var (
	_ Model    = (*Scripted)(nil)
	_ Embedder = (*Scripted)(nil)
)

// NewScripted returns a model that goes by a name, "scripted" if that is empty.
func NewScripted(name string, script *Script) *Scripted {
	if name == "" {
		name = "scripted"
	}
	return &Scripted{name, script}
}

// Name returns the model's name.
func (s *Scripted) Name() string { return s.name }

// Invoke plays the first reply whose conditions hold. If there is none, the error
// wraps [ErrNoReply] and says what was asked.
func (s *Scripted) Invoke(ctx context.Context, q Request, on func(Delta) error) (Reply, error) {
	h := &accumulator{on: on, limits: Limits{}.orDefaults(), model: s.name}
	err := s.play(ctx, &q, h)
	if h.refused != nil {
		err = h.refused
	}
	return h.reply(err != nil), err
}

func (s *Scripted) play(ctx context.Context, q *Request, h *accumulator) error {
	if err := q.check(); err != nil {
		return err
	}
	r := s.choose(q)
	if r == nil {
		return s.noReply(q)
	}
	if err := sleepFor(ctx, time.Duration(r.Wait)); err != nil {
		return err
	}
	pause := func() error { return sleepFor(ctx, time.Duration(r.Pause)) }
	for _, text := range r.thoughts {
		if err := pause(); err != nil {
			return err
		}
		t, err := h.thoughtOf(r.Field)
		if err == nil {
			err = h.think(t, text)
		}
		if err != nil {
			return err
		}
	}
	for _, text := range r.Deltas {
		if err := pause(); err != nil {
			return err
		}
		if err := h.say(text); err != nil {
			return err
		}
	}
	for i := range r.Calls {
		if err := pause(); err != nil {
			return err
		}
		if err := s.call(&r.Calls[i], i, q, h); err != nil {
			return err
		}
	}
	h.usage = Usage{Input: r.Usage.Input, Output: r.Usage.Output, Reasoning: r.Usage.Reasoning}
	if r.Error != nil {
		return s.fault(r.Error)
	}
	h.finish, h.end = r.Finish, endOf(r.Finish)
	return h.giveCalls()
}

// choose returns the reply to a request, or nil.
func (s *Scripted) choose(q *Request) *scriptReply {
	for _, r := range s.script.replies {
		if r.When.hold(s.name, q) {
			return r
		}
	}
	return nil
}

func (s *Scripted) noReply(q *Request) error {
	p, last := placeOf(q), q.Messages[len(q.Messages)-1]
	text := clean(last.Text)
	if r := []rune(text); len(r) > 80 {
		text = string(r[:80]) + "…"
	}
	return &Error{
		Provider: "scripted", Model: s.name, Err: ErrNoReply,
		Message: fmt.Sprintf("%s has no reply for call %d, cycle %d, step %d, after the %s message %q; add a last reply without conditions, which always matches",
			s.script.name, p.call, p.cycle, p.step, last.Role, text),
	}
}

func (s *Scripted) call(from *scriptCall, i int, q *Request, h *accumulator) error {
	c, err := h.newCall()
	if err != nil {
		return err
	}
	c.ID, c.Name = from.ID, from.Name
	if c.ID == "" {
		c.ID = fmt.Sprintf("call_%s_%d", fingerprint(q), i)
	}
	return h.argue(c, from.arguments)
}

// fingerprint returns some letters that are the same for the same conversation.
func fingerprint(q *Request) string {
	b, _ := json.Marshal(q.Messages)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

func (s *Scripted) fault(f *scriptFault) error {
	return &Error{
		Provider: "scripted", Model: s.name, Status: f.Status, Type: f.Type, Code: f.Code,
		Message: clean(f.Message), RetryAfter: time.Duration(f.RetryAfter), Err: kinds[f.Kind],
		Retryable: f.Kind == "broken_off" || retry.Status(f.Status),
	}
}

// sleepFor waits, unless the context ends before.
func sleepFor(ctx context.Context, d time.Duration) error {
	if sleep.For(ctx, d) != nil {
		return cancelled(ctx)
	}
	return nil
}

// embeddingSize is the length of a scripted embedding.
const embeddingSize = 256

// Embed returns vectors of length 1 that are close for texts which share words:
// each word, ignoring its case, adds to one of 256 components.
func (s *Scripted) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if ctx.Err() != nil {
			return nil, cancelled(ctx)
		}
		vectors[i] = hashed(text)
	}
	return vectors, nil
}

func hashed(text string) []float32 {
	v := make([]float32, embeddingSize)
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	for _, w := range words {
		h := fnv.New64a()
		h.Write([]byte(w))
		v[h.Sum64()%embeddingSize]++
	}
	length := 0.0
	for _, x := range v {
		length += float64(x) * float64(x)
	}
	if length == 0 { // no words: any direction will do, as long as it is always the same
		v[0] = 1
		return v
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(length))
	}
	return v
}
