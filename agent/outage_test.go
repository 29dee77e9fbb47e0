package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/internal/testing/pipeserver"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A flaky is the server of a model. What it answers depends on the request alone,
// unless fail answers in its place.
type flaky struct {
	*pipeserver.Server
	asked  int    // chats, including those that failed
	embeds int    // requests for vectors
	checks int    // questions about the model
	show   string // the answer to them
	// fail, if set, may answer in its place.
	fail func(n int, w http.ResponseWriter, r *http.Request) (done bool)
}

var cycleOf = regexp.MustCompile(`This is cycle (\d+) of`)

func (f *flaky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/embed" {
		f.embeds++
		if f.fail == nil || !f.fail(-f.embeds, w, r) {
			var q struct{ Input []string }
			json.NewDecoder(r.Body).Decode(&q)
			io.WriteString(w, `{"embeddings":[`+strings.TrimSuffix(strings.Repeat("[1,0],", len(q.Input)), ",")+"]}")
		}
		return
	}
	if r.URL.Path != "/api/chat" {
		f.checks++
		if f.show == "" {
			w.WriteHeader(404)
		}
		io.WriteString(w, f.show)
		return
	}
	var q struct {
		Messages []struct{ Role, Content string }
		Options  struct {
			Predict int `json:"num_predict"`
		}
	}
	if json.NewDecoder(r.Body).Decode(&q) != nil || len(q.Messages) < 2 || q.Options.Predict == 1 {
		w.WriteHeader(400)
		return
	}
	f.asked++
	if f.fail != nil && f.fail(f.asked, w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	cycle := cycleOf.FindStringSubmatch(q.Messages[1].Content)[1]
	if q.Messages[len(q.Messages)-1].Role != "tool" {
		say(w, fmt.Sprintf(`{"message":{"content":"<think>Note %s.</think>","tool_calls":[{"function":{"name":"write","arguments":{"key":"k%s","value":"v%[1]s"}}}]}}`, cycle, cycle[len(cycle)-1:]))
	} else {
		say(w, fmt.Sprintf(`{"message":{"content":"I noted that %s is done, and"}}`, cycle))
		say(w, fmt.Sprintf(`{"message":{"content":" %d comes next."}}`, len(q.Messages[0].Content)))
	}
	say(w, `{"message":{"content":""},"done":true,"done_reason":"stop","prompt_eval_count":50,"eval_count":9}`)
}

func say(w http.ResponseWriter, line string) {
	io.WriteString(w, line+"\n")
	w.(http.Flusher).Flush()
}

// A trial is a run whose server fails, in a bubble.
type trial struct {
	*testing.T
	server  *flaky
	x       Experiment
	dir     string
	reports []OutageReport
}

func try(t *testing.T, cycles int, limits Limits, f func(t *trial)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(st *testing.T) {
		s := &flaky{}
		s.Server = pipeserver.New(s)
		defer s.Close()
		m, err := model.Open(model.Config{Provider: "ollama", Model: "m", URL: "http://server.test", Transport: s.Transport(), Retries: -1})
		if err != nil {
			st.Fatal(err)
		}
		f(&trial{T: st, server: s, dir: dir, x: Experiment{Name: "r", Goal: "Note it.", Model: m, Cycles: cycles, Memory: AllMemory(), Limits: limits}})
	})
}

// run runs the experiment, or goes on with it.
func (t *trial) run() Result {
	t.Helper()
	o := in(t.dir)
	o.Observer.OnOutage = func(r OutageReport) { t.reports = append(t.reports, r) }
	s, err := Run(t.Context(), t.x, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// want checks how a run ended.
func (t *trial) want(s Result, status Status, bound Bound, cycles int) {
	t.Helper()
	if s.Status != status || s.Bound != bound || s.Cycles != cycles {
		t.Fatalf("%s by %q after %d cycles, want %s by %q after %d", s.Status, s.Bound, s.Cycles, status, bound, cycles)
	}
}

// settled is what the run leaves: its memory, and its record except for times,
// numbers of events, outages, and where it was suspended and resumed.
func (t *trial) settled() []string {
	t.Helper()
	var lines []string
	id := ""
	for _, e := range events(t, t.dir, record.Query{NoCheckpoints: true}) {
		switch p := whole(e.Payload).(type) {
		case record.RunStart:
			if id = e.Payload.(record.RunStart).ID; !p.Resumed {
				lines = append(lines, t.line(e, p))
			}
		case record.RunEnd:
			if p.Status != string(Suspended) {
				lines = append(lines, t.line(e, p))
			}
		case record.Failure:
		case record.ToolCall:
			p.Of.Seq = 0
			lines = append(lines, t.line(e, p))
		case record.CycleEnd:
			p.Of.Seq = 0
			lines = append(lines, t.line(e, p))
		default:
			lines = append(lines, t.line(e, p))
		}
	}
	memory, err := os.ReadFile(filepath.Join(t.dir, "memory", "r.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	return append(lines, strings.ReplaceAll(string(memory), id, "ID"))
}

func (t *trial) line(e record.Event, p record.Payload) string {
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s %s", e.Cycle, e.Type, text)
}

// undisturbed is what a run leaves whose server never fails.
func undisturbed(t *testing.T, cycles int) (lines []string) {
	try(t, cycles, Limits{}, func(t *trial) {
		t.want(t.run(), Done, "", cycles)
		lines = t.settled()
	})
	return lines
}

// phases are the outages in the record.
func (t *trial) phases() (list []string) {
	for _, e := range events(t, t.dir, record.Query{Types: []record.Type{record.TypeError}}) {
		p := e.Payload.(record.Failure)
		list = append(list, fmt.Sprintf("%s %s %d", p.Code, p.Phase, p.Count))
	}
	return list
}

// A run waits through each kind of outage, however the server shows it, and leaves
// what it would have left without one.
func TestOutage(t *testing.T) {
	want := undisturbed(t, 3)
	status := func(code int, header ...string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
		}
	}
	for _, c := range []struct {
		name     string
		times    int
		fail     func(http.ResponseWriter, *http.Request)
		code     Bound
		min, max time.Duration // that the run waits
	}{
		{"429", 5, status(429), BoundRateLimit, 10 * time.Second, 31 * time.Second},
		{"429 for 90 seconds", 2, status(429, "Retry-After", "90"), BoundRateLimit, 180 * time.Second, 181 * time.Second},
		{"429 for an hour", 1, status(429, "Retry-After", "3600"), BoundRateLimit, time.Hour, time.Hour + time.Second},
		{"503", 100, status(503), BoundOutage, 45 * time.Minute, 110 * time.Minute},
		{"529", 3, status(529), BoundOutage, 3 * time.Second, 8 * time.Second},
		{"hangs", 2, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, BoundOutage, 20 * time.Minute, 21 * time.Minute},
		{"resets", 4, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, BoundOutage, 7 * time.Second, 16 * time.Second},
		{"resets before a word", 4, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, BoundOutage, 7 * time.Second, 16 * time.Second},
		{"overloaded in a stream", 2, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/x-ndjson")
			say(w, `{"error":{"type":"overloaded_error","message":"busy"}}`)
		}, BoundOutage, time.Second, 4 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			try(t, 3, Limits{}, func(t *trial) {
				t.server.fail = func(n int, w http.ResponseWriter, r *http.Request) bool {
					if n < 4 || n >= 4+c.times {
						return false
					}
					c.fail(w, r)
					return true
				}
				from := time.Now()
				t.want(t.run(), Done, "", 3)
				if took := time.Since(from); took < c.min || took > c.max {
					t.Errorf("it took %v, want %v to %v", took, c.min, c.max)
				}
				if t.server.asked != 6+c.times {
					t.Errorf("%d requests, want %d", t.server.asked, 6+c.times)
				}
				if d := cmp.Diff(want, t.settled()); d != "" {
					t.Error(d)
				}
				if d := cmp.Diff([]string{string(c.code) + " start 0", fmt.Sprintf("%s end %d", c.code, c.times)}, t.phases()); d != "" {
					t.Error(d)
				}
				if n := len(t.reports); n != c.times+1 || !t.reports[n-1].Over {
					t.Errorf("%d reports: %+v", n, t.reports)
				}
			})
		})
	}
}

// A server that is killed in the middle of a run of 60 cycles, and started again an
// hour later, changes nothing that the run leaves. A reply that was cut is in the
// record, and asked for again.
func TestServerKilled(t *testing.T) {
	want := undisturbed(t, 60)
	for _, inReply := range []bool{false, true} {
		try(t, 60, Limits{}, func(t *trial) {
			t.server.fail = func(n int, w http.ResponseWriter, r *http.Request) bool {
				if n != 61 {
					return false
				}
				go func() {
					time.Sleep(time.Hour)
					t.server.Start()
				}()
				if inReply {
					w.Header().Set("Content-Type", "application/x-ndjson")
					say(w, `{"message":{"content":"<think>I note"}}`)
				}
				t.server.Kill()
				return true
			}
			from := time.Now()
			t.want(t.run(), Done, "", 60)
			if time.Since(from) < time.Hour {
				t.Errorf("it took %v", time.Since(from))
			}
			got := t.settled()
			if inReply { // the cut reply, and what the cycle and the run counted of it
				got, want = uncounted(got), uncounted(want)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			replayed(t)
			if phases := t.phases(); len(phases) != 2 {
				t.Errorf("%q", phases)
			}
		})
	}
}

var counts = regexp.MustCompile(`"metrics":\{[^}]*\}|"attempt":\d+,`)

// uncounted leaves out invocations that failed, and all counts.
func uncounted(lines []string) (list []string) {
	for _, line := range lines {
		if !strings.Contains(line, `"error":"ollama m: the reply broke off`) {
			list = append(list, counts.ReplaceAllString(line, ""))
		}
	}
	return list
}

// A run whose server stays away, or asks for more time than the run has, is
// suspended in the middle of its cycle. The same run resumes it there, and what it
// leaves is as if nothing had happened.
func TestSuspended(t *testing.T) {
	want := undisturbed(t, 3)
	for _, c := range []struct {
		name   string
		limits Limits
		fail   func(http.ResponseWriter)
		bound  Bound
		asked  int // while it is away
		waits  time.Duration
	}{
		{"an outage", Limits{}, func(w http.ResponseWriter) { w.WriteHeader(503) }, BoundOutage, 0, defaultOutage},
		{"an outage of an hour", Limits{Outage: time.Hour}, func(w http.ResponseWriter) { w.WriteHeader(503) }, BoundOutage, 0, time.Hour},
		{"the time of the run", Limits{Time: 30 * time.Minute}, func(w http.ResponseWriter) { w.WriteHeader(503) }, BoundOutage, 0, 30 * time.Minute},
		{"two weeks", Limits{}, func(w http.ResponseWriter) { w.Header().Set("Retry-After", "1209600"); w.WriteHeader(429) }, BoundRateLimit, 1, 0},
		{"the key is revoked", Limits{}, func(w http.ResponseWriter) { w.WriteHeader(401) }, BoundRefused, 1, 0},
		{"the model is gone", Limits{}, func(w http.ResponseWriter) { w.WriteHeader(404) }, BoundRefused, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			try(t, 3, c.limits, func(t *trial) {
				const before = 3 // requests that succeed: cycle 1, and the call of cycle 2
				away := func(n int, w http.ResponseWriter, _ *http.Request) bool {
					if n > before {
						c.fail(w)
					}
					return n > before
				}
				for range 2 { // suspended, and suspended again
					t.server.fail = away
					from := time.Now()
					t.want(t.run(), Suspended, c.bound, 1)
					asked := t.server.asked - before
					if c.asked > 0 && asked != c.asked || asked == 0 {
						t.Errorf("%d requests while the server was away, want %d", asked, c.asked)
					}
					if took := time.Since(from); took > c.waits || took < c.waits-2*time.Minute {
						t.Errorf("it waited %v, want %v", took, c.waits)
					}
					replayed(t)
					t.server.asked = before
				}
				t.server.fail = nil
				t.want(t.run(), Done, "", 3)
				if n := t.server.asked; n != 6 {
					t.Errorf("%d requests, want 6: none twice", n)
				}
				if d := cmp.Diff(want, uncountedIf(c.limits != Limits{}, want, t.settled())); d != "" {
					t.Error(d)
				}
				replayed(t)
				again := t.run()
				t.want(again, Done, "", 3)
				if t.server.asked != 6 {
					t.Error("a run that has ended is only read")
				}
			})
		})
	}
}

// uncountedIf takes the first line, which has other limits, from the run wanted.
func uncountedIf(other bool, want, got []string) []string {
	if other {
		got[0] = want[0]
	}
	return got
}

// replayed checks that the record is repeated to its end.
func replayed(t *trial) {
	t.Helper()
	p, err := Replay(t.Context(), t.x, in(t.dir).Record, Options{})
	if err != nil || p.Difference != nil || p.Unfinished || p.Events != len(events(t, t.dir, record.Query{NoCheckpoints: true})) {
		t.Fatalf("replay: %+v, %v", p, err)
	}
}

// With the settings that a client has by default, too, a rate limit of 90 seconds
// does not end a run.
func TestRateLimitOfDefaults(t *testing.T) {
	try(t, 2, Limits{}, func(t *trial) {
		m, err := model.Open(model.Config{Provider: "ollama", Model: "m", URL: "http://server.test", Transport: t.server.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		t.x.Model = m
		from := time.Now()
		t.server.fail = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
			if time.Since(from) < 80*time.Second {
				w.Header().Set("Retry-After", "90")
				w.WriteHeader(429)
				return true
			}
			return false
		}
		t.want(t.run(), Done, "", 2)
		if t.server.asked != 5 {
			t.Errorf("%d requests, want 5: the first was refused", t.server.asked)
		}
	})
}

// A run waits for the server of its vectors too, so that an outage does not change
// how reflections are compared.
func TestOutageOfVectors(t *testing.T) {
	try(t, 3, Limits{}, func(t *trial) {
		t.x.Embedder = t.x.Model.(model.Embedder)
		t.server.fail = func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n == -1 || n == -2 {
				w.WriteHeader(503)
			}
			return n == -1 || n == -2
		}
		t.want(t.run(), Done, "", 3)
		if d := cmp.Diff([]string{"outage start 0", "outage end 2"}, t.phases()); d != "" {
			t.Error(d)
		}
		for _, e := range events(t, t.dir, record.Query{Types: []record.Type{record.TypeCycleEnd}})[1:] {
			if m := e.Payload.(record.CycleEnd).Metrics; m.Method != "embedding" {
				t.Errorf("cycle %d was compared by %s", e.Cycle, m.Method)
			}
		}
		replayed(t)
	})
}

// A crash after any event of a run that was suspended twice loses nothing: resumed,
// the run leaves what an undisturbed one leaves.
func TestCrashAroundSuspension(t *testing.T) {
	want := undisturbed(t, 3)
	try(t, 3, Limits{Outage: time.Minute}, func(t *trial) {
		for _, last := range []int{3, 5} {
			t.server.fail = func(n int, w http.ResponseWriter, _ *http.Request) bool {
				if n > last {
					w.WriteHeader(503)
				}
				return n > last
			}
			if s := t.run(); s.Status != Suspended {
				t.Fatal(s.Status)
			}
			t.server.asked = last
		}
		t.server.fail = nil
		t.want(t.run(), Done, "", 3)
		segments, _ := filepath.Glob(filepath.Join(t.dir, "record", "*.jsonl"))
		data, err := os.ReadFile(segments[0])
		if err != nil || len(segments) != 1 {
			t.Fatal(segments, err)
		}
		memory, err := os.ReadFile(filepath.Join(t.dir, "memory", "r.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		for n := 1; n < len(lines); n++ {
			t.dir = t.T.TempDir()
			for name, text := range map[string]string{
				filepath.Join("record", filepath.Base(segments[0])): strings.Join(lines[:n], ""),
				filepath.Join("memory", "r.jsonl"):                  string(memory),
			} {
				os.MkdirAll(filepath.Dir(filepath.Join(t.dir, name)), 0o700)
				if err := os.WriteFile(filepath.Join(t.dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.want(t.run(), Done, "", 3)
			if d := cmp.Diff(want[1:], t.settled()[1:]); d != "" { // the first line has other limits
				t.Fatalf("after event %d of %d:\n%s", n, len(lines)-1, d)
			}
			replayed(t)
		}
	})
}

// A process that ends in the middle of an outage leaves its begin in the record. The
// next one waits on, and records the end of the same outage.
func TestInterruptedOutage(t *testing.T) {
	want := undisturbed(t, 3)
	try(t, 3, Limits{}, func(t *trial) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		t.server.fail = func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n == 6 {
				cancel()
			}
			if n >= 4 && n < 8 {
				w.WriteHeader(503)
			}
			return n >= 4 && n < 8
		}
		if _, err := Run(ctx, t.x, in(t.dir)); !isError(err, context.Canceled) {
			t.Fatal(err)
		}
		if p, err := Replay(t.Context(), t.x, in(t.dir).Record, Options{}); err != nil || !p.Unfinished || p.Difference != nil {
			t.Errorf("%+v, %v", p, err)
		}
		t.want(t.run(), Done, "", 3)
		if d := cmp.Diff([]string{"outage start 0", "outage end 1"}, t.phases()); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(want, t.settled()); d != "" {
			t.Error(d)
		}
		replayed(t)
	})
}

// An outage while an agent below the run works suspends the run, in the middle of
// the call.
func TestOutageOfAnAgentBelow(t *testing.T) {
	try(t, 2, Limits{Outage: time.Minute}, func(t *trial) {
		t.x.Agents = []Subagent{{Name: "clerk", Tools: []string{"read"}, Model: t.x.Model}}
		t.x.Model = scripted(t, `
- when: {step: 1}
  calls: [{name: clerk, arguments: {task: "Look. This is cycle 7 of 9."}}]
- when: {tool: clerk}
  text: The clerk looked.
`)
		t.x.Agents[0].System = "You look."
		t.server.fail = func(n int, w http.ResponseWriter, _ *http.Request) bool {
			if n > 1 {
				w.WriteHeader(503)
			}
			return n > 1
		}
		t.want(t.run(), Suspended, BoundOutage, 0)
		replayed(t)
		t.server.fail, t.server.asked = nil, 1
		t.want(t.run(), Done, "", 2)
		if t.server.asked != 4 {
			t.Errorf("%d requests, want 4: none twice", t.server.asked)
		}
		replayed(t)
	})
}

// Cycles that fail for another reason suspend a run too, and the same run goes on
// with the next cycle.
func TestFailedCyclesSuspend(t *testing.T) {
	try(t, 6, Limits{}, func(t *trial) {
		t.server.fail = func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(400); return true }
		t.want(t.run(), Suspended, BoundCycles, 3)
		t.server.fail = nil
		t.want(t.run(), Done, "", 6)
		replayed(t)
	})
}

// A run that has ended is extended by a higher number of cycles; the prompts of the
// cycles that were made do not change. Fewer cycles are refused, and so is another
// number in a replay.
func TestExtended(t *testing.T) {
	try(t, 2, Limits{}, func(t *trial) {
		t.want(t.run(), Done, "", 2)
		was := t.settled()
		t.x.Cycles = 3
		t.want(t.run(), Done, "", 3)
		replayed(t)
		asked := t.server.asked
		t.want(t.run(), Done, "", 3)
		if t.server.asked != asked || asked != 6 {
			t.Errorf("%d and %d requests, want 6", asked, t.server.asked)
		}
		now := t.settled()
		if d := cmp.Diff(was[:len(was)-1], now[:len(was)-1]); d != "" { // all but the memory
			t.Error(d)
		}
		if text := strings.Join(now, "\n"); strings.Count(text, "This is cycle 3 of 3.") != 2 || strings.Count(text, "of 3.") != 2 {
			t.Error(text)
		}
		for i, e := range events(t, t.dir, record.Query{Types: []record.Type{record.TypeRunStart}}) {
			if p := e.Payload.(record.RunStart); p.Extended != (i == 1) || p.Resumed != (i == 1) {
				t.Errorf("start %d: %+v", i, p)
			}
		}
		t.x.Cycles = 2
		var changed *ChangedError
		if _, err := Run(t.Context(), t.x, in(t.dir)); !asError(err, &changed) || !strings.Contains(changed.What, `settings.cycles: it was "3", now it is "2"`) {
			t.Errorf("%v", err)
		}
		t.x.Cycles = 4
		if p, err := Replay(t.Context(), t.x, in(t.dir).Record, Options{}); err != nil || p.Difference == nil || p.Difference.Field != "settings.cycles" {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

// A conversation, for which somebody waits, does not wait for an outage to pass.
func TestConversationDoesNotWait(t *testing.T) {
	try(t, 1, Limits{}, func(t *trial) {
		t.server.fail = func(_ int, w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(503); return true }
		turn := Turn{Model: t.x.Model, Limits: Limits{Attempts: 3}}
		o, err := turn.Converse(t.Context(), []model.Message{{Role: model.System, Text: "."}, {Role: model.User, Text: "?"}})
		if err != nil || o.Status != Failed || t.server.asked != 3 {
			t.Errorf("%+v, %v, %d requests", o, err, t.server.asked)
		}
	})
}
