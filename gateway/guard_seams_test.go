package gateway_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/record"
)

// judging is a guard with one verdict about what holds a word, and pass for the rest.
func judging(word string, v guard.Verdict) *judgeFunc {
	return &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
		if strings.Contains(p.Text, word) {
			return v, nil
		}
		return guard.Verdict{Action: guard.Pass}, nil
	}}
}

// TestGuardReason: a guard's reason is bounded, and cannot hide or break anything where
// it is shown.
func TestGuardReason(t *testing.T) {
	s := speakers[0]
	reason := strings.Repeat("a\x1b\u202e\xff", 1<<16)
	g := judging("canary", guard.Verdict{Action: guard.End, Reason: reason})
	w, dir := openRecord(t, record.Options{})
	_, got, h := guarded(t, s, gateway.Config{Recorder: w, Default: routing.Route{Guard: guard.Rule{Guard: g}}}, false, s.whole("canary", sotto.EndStopped))
	draining(t, w, h)
	kept := string(only(t, w, dir).Guard.Judgements[0].Reason.Text)
	if !strings.HasPrefix(kept, `a\x1b\u202e`) || len(kept) > 210 || len(got) > 600 || strings.ContainsAny(kept+got, "\x1b\u202e") {
		t.Errorf("%d bytes are recorded, and the client gets %d:\n%s\n%s", len(kept), len(got), kept, got)
	}
}

// TestGuardFailureLogged: the log says why a guard did not judge, not for each reply, and
// without what the guard was asked about.
func TestGuardFailureLogged(t *testing.T) {
	s := speakers[0]
	for _, how := range guard.Failures() {
		var log strings.Builder
		g := &judgeFunc{judge: func(guard.Piece) (guard.Verdict, error) {
			return guard.Verdict{}, errors.New("connection refused")
		}}
		v := converse(t, s, gateway.Config{
			Logger:  slog.New(slog.NewTextHandler(&log, nil)),
			Default: routing.Route{Guard: guard.Rule{Guard: g, OnFailure: how}},
		})
		v.raw = "canary"
		for range 3 {
			ask(v, s.path, v.request("m", false, ""))
		}
		if n := strings.Count(log.String(), "connection refused"); n != 1 || !strings.Contains(log.String(), "on_failure="+string(how)) || strings.Contains(log.String(), "canary") {
			t.Errorf("%s: logged %d times:\n%s", how, n, &log)
		}
	}
}

// TestGuardCutsCalls: with calls: field, a call in the text of an answer is cut with what
// follows the cut. A call before the cut is sent, and so is one after reasoning that was
// cut.
func TestGuardCutsCalls(t *testing.T) {
	const call = `<tool_call>{"name":"f","arguments":{"city":"Rome"}}</tool_call>`
	filler := strings.Repeat("Some words that are harmless. ", 20)
	for _, tt := range []struct{ name, raw, calls string }{
		{"call after the cut", "<think>All is harmless.</think>" + filler + "canary" + call + call, ""},
		{"call and text after the cut", "<think>All is harmless.</think>" + filler + "canary " + filler + call + filler, ""},
		{"call before the cut", "<think>All is harmless.</think>" + call + "\ncanary" + filler, `f {"city":"Rome"}`},
		{"call inside the piece that is cut", "<think>All is harmless.</think>Wait." + call + "\ncanary" + filler, ""},
		{"call after cut reasoning", "<think>" + filler + "canary</think>Wait." + call, `f {"city":"Rome"}`},
	} {
		for _, s := range callSpeakers(t) {
			for _, whole := range []bool{true, false} {
				for _, size := range []int{7, 40, 1 << 20} {
					g := judging("canary", guard.Verdict{Action: guard.Cut})
					route := routing.Route{Calls: routing.CallsField, Guard: guard.Rule{Guard: g, Every: 50, Wait: time.Hour}}
					got := callers(t, s, "qwen3", route, inPieces(tt.raw, size), whole, sotto.EndStopped, declared)
					if got.calls != tt.calls || strings.Contains(got.text+got.thought, "canary") || strings.Contains(got.text, "tool_call") {
						t.Errorf("%s, %s whole=%v size=%d: calls %q, want %q, text %q", s.name(), tt.name, whole, size, got.calls, tt.calls, got.text)
					}
					if called := strings.Contains(got.reason, "tool_calls"); called != (tt.calls != "") && s.codec.Name() == "openai.chat" {
						t.Errorf("%s, %s whole=%v: reason %q", s.name(), tt.name, whole, got.reason)
					}
				}
			}
		}
	}
}

// TestGuardChoices: each choice of a reply is judged for itself. A cut is of one choice,
// and an end is of all.
func TestGuardChoices(t *testing.T) {
	frame := func(choice int, text, reason string) string {
		return fmt.Sprintf(`data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":%d,"delta":{"content":%s},"finish_reason":%s}]}`+"\n\n", choice, quoted(text), reason)
	}
	texts := []string{"<think>First thought.</think>First words are harmless, and so is the end.", "<think>Second thought.</think>Second words, canary, and the rest."}
	var b strings.Builder
	parts := [][]string{inPieces(texts[0], 5), inPieces(texts[1], 5)}
	for i := range parts[0] {
		for n := range parts {
			if i < len(parts[n]) {
				b.WriteString(frame(n, parts[n][i], "null"))
			}
		}
	}
	b.WriteString(frame(0, "", `"stop"`) + frame(1, "", `"stop"`) + "data: [DONE]\n\n")
	whole := fmt.Sprintf(`{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":%s},"finish_reason":"stop"},{"index":1,"message":{"role":"assistant","content":%s},"finish_reason":"stop"}]}`, quoted(texts[0]), quoted(texts[1]))
	for _, action := range []guard.Action{guard.Cut, guard.End} {
		for stream, body := range map[bool]string{true: b.String(), false: whole} {
			g := judging("canary", guard.Verdict{Action: action})
			config := gateway.Config{Default: routing.Route{Guard: guard.Rule{Guard: g, Every: 8, Wait: time.Hour}}}
			status, got, _ := guarded(t, speakers[0], config, stream, body)
			where := fmt.Sprintf("%s stream=%v", action, stream)
			if strings.Contains(got, "canary") || strings.Contains(got, "the rest") {
				t.Errorf("%s: a canary came out: %s", where, got)
			}
			if !stream && action == guard.End {
				if status != http.StatusForbidden {
					t.Errorf("%s: %d %s", where, status, got)
				}
				continue
			}
			content, reasons := map[int64]string{}, map[int64]string{}
			for line := range strings.Lines(got) {
				for _, c := range gjson.Get(strings.TrimPrefix(line, "data: "), "choices").Array() {
					n := c.Get("index").Int()
					content[n] += c.Get("delta.content").Str + c.Get("message.content").Str
					reasons[n] += c.Get("finish_reason").Str
				}
			}
			first, reason := "First words are harmless, and so is the end.", "stop"
			if action == guard.End {
				reason = "content_filter"
			}
			if action == guard.Cut && content[0] != first || !strings.HasPrefix(first, content[0]) || content[0] == "" || reasons[0] != reason || reasons[1] != reason {
				t.Errorf("%s: texts %v, reasons %v", where, content, reasons)
			}
			if stream && !strings.HasPrefix(content[1], "Second") {
				t.Errorf("%s: texts %v", where, content)
			}
			choices := map[int]bool{}
			for _, p := range g.pieces {
				choices[p.Choice] = true
			}
			if len(choices) != 2 {
				t.Errorf("%s: the guard saw choices %v", where, choices)
			}
		}
	}
}

// TestGuardJSON: an answer that must be JSON is not cut, since what is left would be
// none: the reply ends.
func TestGuardJSON(t *testing.T) {
	const raw = `<think>All is harmless.</think>{"name": "nobody", "other": "canary", "rest": 1}`
	asks := map[string]string{
		"openai.chat": `,"response_format":{"type":"json_object"}`, "openai.responses": `,"text":{"format":{"type":"json_object"}}`,
		"ollama.chat": `,"format":"json"`, "ollama.generate": `,"format":"json"`, "cohere.chat": `,"response_format":{"type":"json_object"}`,
	}
	tried := 0
	for _, s := range speakers {
		more, ok := asks[s.codec.Name()]
		if !ok {
			continue
		}
		tried++
		for _, stream := range []bool{true, false} {
			for member, ends := range map[string]bool{more: true, "": false} {
				g := judging("canary", guard.Verdict{Action: guard.Cut, Reason: "a name"})
				v := converse(t, s, gateway.Config{Default: routing.Route{Guard: guard.Rule{Guard: g, Every: 10}}})
				v.raw, v.cut = raw, inPieces(raw, 4)
				w := ask(v, s.path, v.request("m", stream, member))
				got, found := w.Body.String(), w.Header().Get("Sotto-Diagnostics")+w.Body.String()
				if strings.Contains(got, "canary") || strings.Contains(got, "rest") {
					t.Errorf("%s stream=%v%s: %s", s.name(), stream, member, got)
				}
				if !stream && (w.Code == http.StatusForbidden) != ends || stream && strings.Contains(found, "guard_ended") != ends {
					t.Errorf("%s stream=%v%s: status %d:\n%s", s.name(), stream, member, w.Code, got)
				}
			}
		}
	}
	if tried < len(asks) {
		t.Errorf("%d APIs were tried, want %d", tried, len(asks))
	}
}

// TestGuardThinkingLimit: a limit of thinking holds with a guard as without one: the
// client gets the same bytes, and the upstream is not read to its end. The guard does not
// see more of a thought than the limit allows.
func TestGuardThinkingLimit(t *testing.T) {
	var counting strings.Builder
	for i := 0; counting.Len() < 40<<10; i++ {
		fmt.Fprintf(&counting, "Step %d of the sum is %d. ", i, i*i)
	}
	raw := "<think>" + counting.String() + "</think>The answer."
	each(t, func(t *testing.T, s speaker) {
		for _, display := range routing.Displays() {
			all := s.stream(inPieces(raw, 40), sotto.EndStopped)
			var got [2]string
			g := &judgeFunc{}
			for i, rule := range []guard.Rule{{}, {Guard: g}} {
				body := &countedBody{Reader: strings.NewReader(all)}
				h := handler(t, gateway.Config{Default: routing.Route{Display: display, ThinkingLimit: 3000, Guard: rule}}, answering(func(*http.Request) *http.Response {
					resp := response(s.kind(true), nil)
					resp.Body = body
					return resp
				}))
				got[i] = ask(h, s.path, (&conversation{s: s}).request("m", true, "")).Body.String()
				if read := body.read.Load(); read > int64(len(all)/2) {
					t.Errorf("%s %s, guard %v: %d of %d bytes were read", s.name(), display, i == 1, read, len(all))
				}
			}
			if got[0] != got[1] {
				t.Errorf("%s %s: the reply changed:\n…%s\n…%s", s.name(), display, got[0][max(0, len(got[0])-500):], got[1][max(0, len(got[1])-500):])
			}
			if n := len(g.seen[guard.Reasoning]); n < 3000 || n > 3600 {
				t.Errorf("%s %s: the guard saw %d bytes of thought", s.name(), display, n)
			}
		}
	})
}

// TestGuardBackground: a response that is fetched is judged, as far as it came, whole or
// as a stream of which the client has the beginning.
func TestGuardBackground(t *testing.T) {
	const text = "<think>All is harmless.</think>It is canary."
	for _, action := range []guard.Action{guard.Pass, guard.Cut, guard.End} {
		for _, status := range []string{"in_progress", "completed", "cancelled"} {
			g := judging("canary", guard.Verdict{Action: action})
			h := handler(t, gateway.Config{Default: routing.Route{Guard: guard.Rule{Guard: g}}}, answering(upstreamSends("application/json", backgroundReply(status, text))))
			w := asked(h, "GET", "/v1/responses/resp_1")
			answer, _ := responseTexts(w.Body.String())
			want, code := "It is canary.", http.StatusOK
			switch action {
			case guard.Cut:
				want = ""
			case guard.End:
				want, code = "", http.StatusForbidden
			}
			if w.Code != code || answer != want || (action != guard.Pass) == strings.Contains(w.Body.String(), "canary") {
				t.Errorf("%s %s: %d, text %q, want %q\n%s", action, status, w.Code, answer, want, w.Body)
			}
		}
		s := speakers[slices.IndexFunc(speakers, func(s speaker) bool { return s.codec.Name() == "openai.responses" })]
		g := judging("canary", guard.Verdict{Action: action})
		h := handler(t, gateway.Config{Default: routing.Route{Guard: guard.Rule{Guard: g, Wait: time.Hour}}}, answering(upstreamSends(s.kind(true), s.stream(inPieces(text, 3), sotto.EndStopped))))
		w := asked(h, "GET", "/v1/responses/resp_1?stream=true&starting_after=2")
		if w.Code != http.StatusOK || (action != guard.Pass) == strings.Contains(w.Body.String(), "canary") || g.seen[guard.Reasoning] != "All is harmless." {
			t.Errorf("%s as a stream: %d, the guard saw %q\n%s", action, w.Code, g.seen, w.Body)
		}
	}
}

// An eager body is a stream that is always there. It counts what was read.
type eagerBody struct {
	r    *strings.Reader
	read atomic.Int64
}

func (b *eagerBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.read.Add(int64(n))
	return n, err
}

func (b *eagerBody) Close() error { return nil }

// TestGuardIsSlow: while a guard decides, little of the upstream's stream is read ahead,
// however much of it is there. A guard that wants a reply whole gets no more at once than
// a body may have.
func TestGuardIsSlow(t *testing.T) {
	const ahead = 48 << 10 // two reads of 16 KiB, and a piece
	raw := strings.Repeat("Some words that are harmless. ", 6000)
	s := speakers[0]
	all := s.stream(inPieces(raw, 30), sotto.EndStopped)
	perByte := int64(len(all)/len(raw) + 1)
	for _, rule := range []guard.Rule{{}, {Every: -1, OnFailure: guard.Open}, {Every: -1}} {
		limit := int64(64 << 10)
		most, calls := int64(0), 0
		body := &eagerBody{r: strings.NewReader(all)}
		rule.Guard = &judgeFunc{judge: func(p guard.Piece) (guard.Verdict, error) {
			for range 10 { // let the upstream run ahead
				runtime.Gosched()
			}
			calls++
			most = max(most, body.read.Load()-int64(p.Offset)*perByte)
			return guard.Verdict{Action: guard.Pass}, nil
		}}
		h := handler(t, gateway.Config{Limits: gateway.Limits{Body: limit, Frame: 32 << 10}, Default: routing.Route{Guard: rule}}, answering(func(*http.Request) *http.Response {
			resp := response(s.kind(true), nil)
			resp.Body = body
			return resp
		}))
		got := joined(t, s, true, ask(h, s.path, (&conversation{s: s}).request("m", true, "")).Body.String())
		switch closed := rule.Every < 0 && rule.OnFailure == ""; {
		case closed && (got != "" || body.read.Load() > limit+ahead):
			t.Errorf("%+v: %d bytes came, and %d of %d were read", rule, len(got), body.read.Load(), len(all))
		case !closed && (got != raw || calls < 3):
			t.Errorf("%+v: %d of %d bytes came, by %d calls", rule, len(got), len(raw), calls)
		case rule.Every < 0 && most > limit+ahead, rule.Every == 0 && most > ahead:
			t.Errorf("%+v: %d bytes of %d were read ahead", rule, most, len(all))
		}
	}
}

// TestGuardRestores: if an answer was cut, the model does not get the thought of another
// answer back. A thought that was cut from what the client sees is still the model's own,
// and it gets all of it back.
func TestGuardRestores(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		restored  bool
	}{
		{"nothing is cut", "<think>A private thought, to the end.</think>The answer is four.", true},
		{"the answer is cut", "<think>A private thought, to the end.</think>The answer is four, canary.", false},
		{"the thought is cut", "<think>A private canary thought, to the end.</think>The answer is four.", true},
	} {
		for _, stream := range []bool{true, false} {
			s := speakers[0]
			g := judging("canary", guard.Verdict{Action: guard.Cut})
			v := converse(t, s, gateway.Config{Default: routing.Route{History: history.Restore, Guard: guard.Rule{Guard: g, Every: 8, Wait: time.Hour}}})
			v.raw, v.cut = tt.raw, inPieces(tt.raw, 4)
			w := ask(v, s.path, v.request("deepseek-v3.2", stream, ""))
			said := joined(t, s, stream, w.Body.String())
			back := fmt.Sprintf(`{"model":"deepseek-v3.2","messages":[{"role":"user","content":"What is it?"},{"role":"assistant","content":%s},{"role":"user","content":"Sure?"}]}`, quoted(said))
			ask(v, s.path, back)
			if strings.Contains(v.got, "to the end") != tt.restored || strings.Contains(w.Body.String(), "canary") {
				t.Errorf("%s, stream=%v: the client got %q, and the upstream then\n%s", tt.name, stream, said, v.got)
			}
		}
	}
}

// TestGuardEndsAtOnce: a stream that a guard ends before any of it was sent ends as the
// API ends one too, also in the APIs whose first frame has text.
func TestGuardEndsAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s speaker) {
		for _, raw := range []string{"canary, and more of it", "<think>canary, and more of it</think>Four."} {
			for _, display := range routing.Displays() {
				for _, every := range []int{1, -1} {
					for _, none := range routing.NoAnswerActions() {
						if none != routing.NoAnswerEmpty && display == routing.DisplayKeep || none == routing.NoAnswerPromote && display == routing.DisplayHide {
							continue // the gateway refuses it
						}
						where := fmt.Sprintf("%s %s every=%d on-no-answer=%s %.7q", s.name(), display, every, none, raw)
						g := &judgeFunc{judge: func(guard.Piece) (guard.Verdict, error) {
							return guard.Verdict{Action: guard.End}, nil
						}}
						route := routing.Route{Display: display, OnNoAnswer: none, Guard: guard.Rule{Guard: g, Every: every}}
						status, got, _ := guarded(t, s, gateway.Config{Default: route}, true, s.stream(inPieces(raw, 5), sotto.EndStopped))
						if strings.Contains(got, "canar") || strings.Contains(got, "more") || strings.Contains(got, "Four") {
							t.Errorf("%s: text came out:\n%s", where, got)
						}
						said := heardOf(s, got)
						if status != http.StatusOK || said.failed != "" || !said.done && display != routing.DisplayKeep || len(said.text)+len(said.thought) > 0 {
							t.Errorf("%s: %d, failed %q, done %v, %q:\n%s", where, status, said.failed, said.done, said.text, got)
						}
					}
				}
			}
		}
	})
}

// TestGuardCutIsNoMissingAnswer: an answer that a guard cut was there: its reply is not
// taken for one that is all reasoning.
func TestGuardCutIsNoMissingAnswer(t *testing.T) {
	const raw = "<think>All is harmless.</think>canary, and more of it"
	each(t, func(t *testing.T, s speaker) {
		for _, none := range routing.NoAnswerActions() {
			for _, stream := range []bool{true, false} {
				g := judging("canary", guard.Verdict{Action: guard.Cut})
				body := s.whole(raw, sotto.EndStopped)
				if stream {
					body = s.stream(inPieces(raw, 5), sotto.EndStopped)
				}
				status, got, _ := guarded(t, s, gateway.Config{Default: routing.Route{OnNoAnswer: none, Guard: guard.Rule{Guard: g, Wait: time.Hour}}}, stream, body)
				if status != http.StatusOK || joined(t, s, stream, got) != "" || strings.Contains(got, "canary") || strings.Contains(got, "error\":{") {
					t.Errorf("%s on-no-answer=%s stream=%v: %d\n%s", s.name(), none, stream, status, got)
				}
			}
		}
	})
}
