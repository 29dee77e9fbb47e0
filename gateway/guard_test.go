package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// A judgeFunc is a guard that remembers what it saw.
type judgeFunc struct {
	mu     sync.Mutex
	seen   map[guard.Channel]string
	pieces []guard.Piece
	judge  func(guard.Piece) (guard.Verdict, error)
}

func (g *judgeFunc) Judge(_ context.Context, p guard.Piece) (guard.Verdict, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen == nil {
		g.seen = map[guard.Channel]string{}
	}
	if p.Choice == 0 {
		g.seen[p.Channel] += p.Text
	}
	g.pieces = append(g.pieces, p)
	if g.judge == nil {
		return guard.Verdict{Action: guard.Pass}, nil
	}
	return g.judge(p)
}

// guardReply is a reply with more thought and answer than one piece.
func guardReply() (raw, thought, answer string) {
	thought = strings.TrimSpace(strings.Repeat("I should compare the numbers again. ", 40))
	answer = strings.TrimSpace(strings.Repeat("The number is four, as was said. ", 40))
	return "<think>" + thought + "</think>" + answer, thought, answer
}

func inPieces(raw string, n int) (cut []string) {
	for raw != "" {
		k := min(n, len(raw))
		cut, raw = append(cut, raw[:k]), raw[k:]
	}
	return cut
}

// guarded is what a client gets of a reply of an API.
func guarded(t *testing.T, s speaker, c gateway.Config, stream bool, body string) (status int, got string, h *gateway.Handler) {
	t.Helper()
	h = handler(t, c, answering(func(*http.Request) *http.Response { return response(s.kind(stream), strings.NewReader(body)) }))
	v := &conversation{s: s}
	w := ask(h, s.path, v.request("m", stream, ""))
	return w.Code, w.Body.String(), h
}

// TestGuardPasses: with a guard that passes everything, a client gets what it gets without
// one, over every codec and display, and so it does with one that fails
// open. The guard sees each channel under its own name, in order and whole, also where
// reasoning is hidden.
func TestGuardPasses(t *testing.T) {
	raw, thought, answer := guardReply()
	failing := errors.New("no")
	each(t, func(t *testing.T, s speaker) {
		chosen := effort.OneIn(5, s.name())
		for _, display := range routing.Displays() {
			for _, stream := range []bool{true, false} {
				for _, rule := range []guard.Rule{{}, {Every: -1}, {Every: 1}, {OnFailure: guard.Open}} {
					if !chosen() {
						continue
					}
					where := fmt.Sprintf("%s %s stream=%v %+v", s.name(), display, stream, rule)
					body := s.whole(raw, sotto.EndStopped)
					if stream {
						body = s.stream(inPieces(raw, 7), sotto.EndStopped)
					}
					g := &judgeFunc{}
					if rule.OnFailure == guard.Open {
						g.judge = func(guard.Piece) (guard.Verdict, error) { return guard.Verdict{}, failing }
					}
					rule.Guard = g
					_, plain, _ := guarded(t, s, gateway.Config{Default: routing.Route{Display: display}}, stream, body)
					_, got, _ := guarded(t, s, gateway.Config{Default: routing.Route{Display: display, Guard: rule}}, stream, body)
					if got, plain := meaningOf(s, got), meaningOf(s, plain); got != plain {
						t.Errorf("%s: the reply changed:\n%.600s\n%.600s", where, got, plain)
					}
					if g.seen[guard.Reasoning] != thought || g.seen[guard.Answer] != answer {
						t.Errorf("%s: the guard saw\n%q\n%q", where, g.seen[guard.Reasoning], g.seen[guard.Answer])
					}
					if n := len(g.pieces); (!stream || rule.Every < 0) && n != 2 || stream && rule.Every == 0 && (n < 4 || n > 9) {
						t.Errorf("%s: %d pieces", where, n)
					}
					offsets := map[guard.Channel]int{}
					for _, p := range g.pieces {
						if p.Offset != offsets[p.Channel] || !strings.HasSuffix(g.seen[p.Channel][:p.Offset], p.Before) || p.Offset > 0 && p.Before == "" {
							t.Errorf("%s: a piece at %d, want %d, after %.20q", where, p.Offset, offsets[p.Channel], p.Before)
						}
						offsets[p.Channel] += len(p.Text)
					}
				}
			}
		}
	})
}

// TestGuardCuts: nothing of what a guard cuts reaches the client in any field, and what
// comes after it, or before it, does.
func TestGuardCuts(t *testing.T) {
	const canary = "canary in the middle. "
	filler := strings.Repeat("Some words that are harmless. ", 20)
	tail := strings.Repeat("canary after it. ", 60)
	for _, channel := range []guard.Channel{guard.Reasoning, guard.Answer} {
		raw := "<think>" + filler + canary + tail + "</think>The answer is harmless."
		if channel == guard.Answer {
			raw = "<think>All is harmless.</think>" + filler + canary + tail
		}
		each(t, func(t *testing.T, s speaker) {
			for _, display := range routing.Displays() {
				for _, stream := range []bool{true, false} {
					for _, every := range []int{0, -1} {
						where := fmt.Sprintf("%s %s %s stream=%v every=%d", s.name(), channel, display, stream, every)
						body := s.whole(raw, sotto.EndStopped)
						if stream {
							body = s.stream(inPieces(raw, 11), sotto.EndStopped)
						}
						g := &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
							if strings.Contains(p.Before+p.Text, "canary") {
								return guard.Verdict{Action: guard.Cut, Reason: "a canary"}, nil
							}
							return guard.Verdict{Action: guard.Pass}, nil
						}}
						status, got, _ := guarded(t, s, gateway.Config{Default: routing.Route{Display: display, Guard: guard.Rule{Guard: g, Every: every}}}, stream, body)
						if strings.Contains(got, "canary") && !strings.Contains(got, "a canary") {
							t.Errorf("%s: a canary came out:\n%.2000s", where, got)
						}
						n := 0
						for _, p := range g.pieces {
							if p.Channel == channel && strings.Contains(p.Text, "canary") {
								n++
							}
						}
						if n != 1 {
							t.Errorf("%s: the guard saw %d pieces with what it cuts", where, n)
						}
						if display == routing.DisplayKeep { // it ends
							continue
						}
						if status != http.StatusOK || channel == guard.Reasoning && !strings.Contains(joined(t, s, stream, got), "The answer is harmless.") {
							t.Errorf("%s: status %d, the answer is lost:\n%.2000s", where, status, got)
						}
						if channel == guard.Answer && stream && every == 0 && !strings.Contains(joined(t, s, stream, got), "Some words that are harmless.") {
							t.Errorf("%s: what came before is lost:\n%.2000s", where, got)
						}
					}
				}
			}
		})
	}
}

// joined is the text that a client gets.
func joined(t *testing.T, s speaker, stream bool, got string) string {
	t.Helper()
	if stream {
		return string(heardOf(s, got).text)
	}
	return string(s.listenWhole(t, []byte(got)).text)
}

// heardOf is what a client makes of a stream that was cut. Its end need not repeat what
// came before.
func heardOf(s speaker, got string) *heard {
	h := &heard{}
	for f := range framesOf(s.codec, []byte(got)) {
		if f.Data != nil && string(f.Data) != "[DONE]" {
			s.one(gjson.ParseBytes(f.Data), h)
		}
	}
	return h
}

// TestGuardCutsHiddenReplies cuts the first reasoning of replies in every form of an API.
// Nothing of it, or of what follows it, comes out in fields that nobody reads.
func TestGuardCutsHiddenReplies(t *testing.T) {
	for _, h := range hiddenReplies {
		frames := slices.Clone(h.frames)
		for i := range frames { // what comes before the first thought passes as it came
			frames[i] = strings.NewReplacer("canary unread", "harmless", `"tool_plan":"canary plan"}}}`, `"tool_plan":""}}}`).Replace(frames[i])
		}
		if h.path == "/v1/messages" {
			frames = append(frames[:1:1], frames[4:]...)
		}
		cut := &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
			if p.Channel == guard.Reasoning {
				return guard.Verdict{Action: guard.Cut}, nil
			}
			return guard.Verdict{Action: guard.Pass}, nil
		}}
		for _, stream := range []bool{true, false} {
			kind, body := "text/event-stream", strings.Join(frames, "")
			if strings.HasPrefix(h.path, "/api") {
				kind = "application/x-ndjson"
			}
			if !stream {
				kind, body = "application/json", h.whole
			}
			g := handler(t, gateway.Config{Default: routing.Route{Guard: guard.Rule{Guard: cut}}}, answering(func(*http.Request) *http.Response {
				return response(kind, strings.NewReader(body))
			}))
			got := ask(g, h.path, fmt.Sprintf(`{"model":"m","stream":%v,"messages":[]}`, stream)).Body.String()
			if i := strings.Index(got, "canary"); i >= 0 {
				t.Errorf("%s stream=%v: a canary came out: …%s…", h.path, stream, got[max(i-200, 0):min(i+80, len(got))])
			}
			text := got
			if stream {
				text = streamedText(got)
			}
			if !strings.Contains(text, "4.") {
				t.Errorf("%s stream=%v: the answer is lost:\n%s", h.path, stream, got)
			}
		}
	}
}

// TestGuardEnds: what a guard ends, ends as the API ends it, with nothing of the piece,
// and the record has all that the upstream had sent, and the verdict.
func TestGuardEnds(t *testing.T) {
	filler := strings.Repeat("Some words that are harmless. ", 30)
	raw := "<think>" + filler + "</think>" + filler + "canary" + strings.Repeat(" and the rest of it", 60)
	each(t, func(t *testing.T, s speaker) {
		for _, display := range routing.Displays() {
			for _, stream := range []bool{true, false} {
				where := fmt.Sprintf("%s %s stream=%v", s.name(), display, stream)
				body := s.whole(raw, sotto.EndStopped)
				if stream {
					body = s.stream(inPieces(raw, 11), sotto.EndStopped)
				}
				g := &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
					if strings.Contains(p.Text, "canary") {
						return guard.Verdict{Action: guard.End, Reason: "not for \x1b[31m you"}, nil
					}
					return guard.Verdict{Action: guard.Pass}, nil
				}}
				w, dir := openRecord(t, record.Options{})
				c := gateway.Config{Recorder: w, Default: routing.Route{Display: display, Guard: guard.Rule{Guard: g}}}
				status, got, h := guarded(t, s, c, stream, body)
				draining(t, w, h)
				e := only(t, w, dir)
				if strings.Contains(got, "canary") || strings.Contains(got, "the rest") || strings.Contains(got, "\x1b") {
					t.Errorf("%s: a canary came out:\n%.2000s", where, got)
				}
				if !strings.Contains(rawOf(e)+thoughtOf(e), "canary") {
					t.Errorf("%s: the record lacks what the guard kept back", where)
				}
				if e.Guard == nil || !slices.ContainsFunc(e.Guard.Judgements, func(j record.Judgement) bool {
					return j.Action == "end" && j.Channel == "answer" && strings.HasPrefix(string(j.Reason.Text), "not for ")
				}) {
					t.Errorf("%s: recorded %+v", where, e.Guard)
				}
				page := metricsOf(h)
				if !strings.Contains(page, `sotto_guard_decisions_total{action="end",channel="answer",model="m"} 1`) {
					t.Errorf("%s: the metrics do not count it", where)
				}
				if !stream {
					if status != http.StatusForbidden || !strings.Contains(got, "the guard ended the reply") {
						t.Errorf("%s: status %d: %s", where, status, got)
					}
					continue
				}
				if display == routing.DisplayKeep {
					continue
				}
				said := heardOf(s, got)
				if said.failed != "" || !said.done || !strings.Contains(string(said.text), "harmless") {
					t.Errorf("%s: failed %q, done %v:\n%.2000s", where, said.failed, said.done, got)
				}
			}
		}
	})
}

// TestGuardClosed: if the guard does not judge, and the route is closed, nothing of what
// it should see is delivered, and the client gets an error of its API.
func TestGuardClosed(t *testing.T) {
	raw := "<think>canary</think>canary"
	each(t, func(t *testing.T, s speaker) {
		for _, display := range routing.Displays() {
			for _, stream := range []bool{true, false} {
				body := s.whole(raw, sotto.EndStopped)
				if stream {
					body = s.stream(inPieces(raw, 3), sotto.EndStopped)
				}
				g := &judgeFunc{judge: func(guard.Piece) (guard.Verdict, error) {
					return guard.Verdict{Action: "perhaps"}, nil
				}}
				status, got, _ := guarded(t, s, gateway.Config{Default: routing.Route{Display: display, Guard: guard.Rule{Guard: g}}}, stream, body)
				if strings.Contains(got, "canary") || strings.Contains(got, "can") && strings.Contains(got, `"ary`) || !strings.Contains(got, "the guard did not judge the reply") {
					t.Errorf("%s %s stream=%v: %d %s", s.name(), display, stream, status, got)
				}
				if !stream && status != http.StatusServiceUnavailable {
					t.Errorf("%s: status %d", s.name(), status)
				}
			}
		}
	})
}
