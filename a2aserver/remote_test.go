package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/internal/base/tracecontext"
	"github.com/sotto-llm/sotto/internal/reply/sourcetext"
	"github.com/sotto-llm/sotto/model"
)

// remoteTool is a remote agent as a tool of the name "remote".
func remoteTool(t *testing.T, url string) agent.Tool {
	t.Helper()
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	tool, err := Remote{Name: "remote", Description: "r", URL: url, Transport: tr}.Tool()
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

// An events agent sends these events of a task, and ends.
type eventsAgent func(*a2asrv.ExecutorContext) []a2a.Event

func (f eventsAgent) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for _, e := range append([]a2a.Event{a2a.NewSubmittedTask(ec, ec.Message)}, f(ec)...) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (eventsAgent) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

// serveEvents serves an agent by the official server.
func serveEvents(t *testing.T, streams bool, f eventsAgent) string {
	t.Helper()
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	card := &a2a.AgentCard{
		Name: "other", Version: "1", Capabilities: a2a.AgentCapabilities{Streaming: streams},
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(s.URL+"/rpc", a2a.TransportProtocolJSONRPC)},
	}
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(f, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))))
	return s.URL
}

// TestRemoteStatus: what a remote agent says in a status is never its answer. A
// question is marked as one.
func TestRemoteStatus(t *testing.T) {
	says := func(ec *a2asrv.ExecutorContext, state a2a.TaskState, text string) a2a.Event {
		return a2a.NewStatusUpdateEvent(ec, state, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text)))
	}
	for _, streams := range []bool{true, false} {
		for name, tt := range map[string]struct {
			events eventsAgent
			want   string
		}{
			"no artifact": {func(ec *a2asrv.ExecutorContext) []a2a.Event {
				return []a2a.Event{says(ec, a2a.TaskStateWorking, "STATUS"), says(ec, a2a.TaskStateCompleted, "STATUS")}
			}, "error: the agent's answer has no visible text"},
			"artifact": {func(ec *a2asrv.ExecutorContext) []a2a.Event {
				return []a2a.Event{
					says(ec, a2a.TaskStateWorking, "STATUS"), a2a.NewArtifactEvent(ec, a2a.NewTextPart("<think>SECRET</think>The answer.")),
					says(ec, a2a.TaskStateCompleted, "STATUS"),
				}
			}, "The answer."},
			"question": {func(ec *a2asrv.ExecutorContext) []a2a.Event {
				return []a2a.Event{says(ec, a2a.TaskStateInputRequired, "Which?")}
			}, "The agent asks, for task "},
		} {
			got, err := remoteTool(t, serveEvents(t, streams, tt.events)).Call(t.Context(), agent.Use{Arguments: json.RawMessage(`{"message":"Hi"}`)})
			if err != nil {
				got = "error: " + err.Error()
			}
			if !strings.HasPrefix(got, tt.want) || strings.Contains(got, "STATUS") {
				t.Errorf("%s, streams %v: %q, want %q", name, streams, got, tt.want)
			}
		}
	}
}

// TestRemotePieces: an answer in pieces reads as the whole, wherever it was cut.
func TestRemotePieces(t *testing.T) {
	for _, c := range kit(t) {
		want := sotto.Strip(c.Raw)
		check := func(cuts string, texts ...string) {
			var parts []*a2a.Part
			for _, text := range texts {
				parts = append(parts, a2a.NewTextPart(text))
			}
			if got := onlyVisible(parts); got != want {
				t.Errorf("%s cut %s: %q, want %q", c.ID, cuts, got, want)
			}
		}
		for cut := range len(c.Raw) {
			check(fmt.Sprint("at ", cut), c.Raw[:cut], c.Raw[cut:])
		}
		check("everywhere", strings.Split(c.Raw, "")...)
	}
}

// TestRemoteAppends: the pieces that an agent appends to its artifact are one answer.
func TestRemoteAppends(t *testing.T) {
	for _, streams := range []bool{true, false} {
		url := serveEvents(t, streams, func(ec *a2asrv.ExecutorContext) []a2a.Event {
			first := a2a.NewArtifactEvent(ec, a2a.NewTextPart("<thi"))
			events := []a2a.Event{first}
			for _, text := range []string{"nk>SECRET</th", "ink>Tor", "onto"} {
				events = append(events, a2a.NewArtifactUpdateEvent(ec, first.Artifact.ID, a2a.NewTextPart(text)))
			}
			return append(events, a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil))
		})
		got, err := remoteTool(t, url).Call(t.Context(), agent.Use{Arguments: json.RawMessage(`{"message":"Hi"}`)})
		if err != nil || got != "Toronto" {
			t.Errorf("streams %v: %q, %v", streams, got, err)
		}
	}
}

// inStatuses returns what statuses with these texts show.
func inStatuses(t *testing.T, texts ...string) (shown string) {
	t.Helper()
	f, err := sourcetext.New(sotto.Default(), sotto.BeginAuto)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, text := range texts {
		all = append(all, f.Add(text)...)
	}
	return strings.Join(append(all, f.Close()...), "")
}

// TestRemoteStatuses: statuses read as the whole, wherever they were cut.
func TestRemoteStatuses(t *testing.T) {
	for _, c := range kit(t) {
		var want strings.Builder
		r := sotto.Parse(c.Raw, sotto.EndStopped)
		for _, s := range r.Segments {
			if s.Channel == sotto.ChannelText || s.Channel == sotto.ChannelNarration {
				want.WriteString(c.Raw[s.Start:s.End])
			}
		}
		for cut := range len(c.Raw) {
			if got := inStatuses(t, c.Raw[:cut], c.Raw[cut:]); got != want.String() {
				t.Errorf("%s cut at %d: %q, want %q", c.ID, cut, got, &want)
			}
		}
		if got := inStatuses(t, strings.Split(c.Raw, "")...); got != want.String() {
			t.Errorf("%s cut everywhere: %q, want %q", c.ID, got, &want)
		}
	}
}

// narrates calls the remote agent, and returns its lines of narration and its result.
func narrates(t *testing.T, tool agent.Tool) (lines []string, result string) {
	t.Helper()
	var mu sync.Mutex
	a := agent.Agent{Turn: agent.Turn{Model: remoteCaller{}, Tools: []agent.Tool{tool}}}
	out, err := a.Answer(t.Context(), agent.Conversation{Messages: []model.Message{{Role: model.User, Text: "Ask."}}}, func(e agent.Event) error {
		mu.Lock()
		defer mu.Unlock()
		if n, ok := e.(agent.Narration); ok {
			lines = append(lines, strings.TrimSpace(n.Text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines, out.Answer
}

// TestRemoteThoughtInStatuses: a thought that goes on over several statuses is not
// narrated, and neither is its end in the question that comes last. Where the agent may
// have begun inside a thought, nothing is narrated before that is known.
func TestRemoteThoughtInStatuses(t *testing.T) {
	for _, tt := range []struct {
		start    sotto.Beginning
		question bool
		texts    []string
		want     []string
		result   string
	}{
		{"", false, []string{"<think>", "SECRET", "</think>", "Looking."}, []string{"remote: Looking."}, "It says: Toronto"},
		{"", false, []string{"SECRET", "SEC", "RET</think>", "Looking."}, []string{"remote: Looking."}, "It says: Toronto"},
		{"", false, []string{"One.", "Two."}, []string{"remote: One.", "remote: Two."}, "It says: Toronto"},
		{sotto.BeginOutside, false, []string{"One.", "<thi", "nk>SECRET", "SECRET</think>", "Two."}, []string{"remote: One.", "remote: Two."}, "It says: Toronto"},
		{"", true, []string{"<think>SECRET", "SECRET</think>Which one?"}, nil, "Which one?"},
		{"", true, []string{"SECRET", "SECRET</think>Which one?"}, nil, "Which one?"},
	} {
		for _, streams := range []bool{true, false} {
			url := serveEvents(t, streams, func(ec *a2asrv.ExecutorContext) (events []a2a.Event) {
				for i, text := range tt.texts {
					state := a2a.TaskStateWorking
					if tt.question && i == len(tt.texts)-1 {
						state = a2a.TaskStateInputRequired
					}
					events = append(events, a2a.NewStatusUpdateEvent(ec, state, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text))))
				}
				if tt.question {
					return events
				}
				return append(events, a2a.NewArtifactEvent(ec, a2a.NewTextPart("Toronto")), a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil))
			})
			tool, err := Remote{Name: "remote", Description: "r", URL: url, Start: tt.start}.Tool()
			if err != nil {
				t.Fatal(err)
			}
			lines, result := narrates(t, tool)
			if streams {
				lines = slices.DeleteFunc(lines, func(s string) bool { return s == "remote:" })
				if !slices.Equal(lines, tt.want) {
					t.Errorf("%q: narrated %q, want %q", tt.texts, lines, tt.want)
				}
			}
			if !strings.HasSuffix(result, tt.result) || strings.Contains(fmt.Sprint(lines, result), "SEC") {
				t.Errorf("streams %v, %q: %q %q, want %q", streams, tt.texts, lines, result, tt.result)
			}
		}
	}
}

// TestRemoteConsent: a model cannot give the consent that an agent asks a person for,
// neither at once nor in a later call. Another question it can answer. The question is for
// the person, with its type; one of an earlier version, without a type, nobody can answer.
func TestRemoteConsent(t *testing.T) {
	q := consent.About(consent.Call{Tool: "erase"}, "{}", time.Now().Add(time.Hour))
	for _, typed := range []bool{true, false} {
		says := func(ec *a2asrv.ExecutorContext, state a2a.TaskState, text string, meta bool) a2a.Event {
			m := a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart(text))
			if meta {
				m.SetMeta(ConsentKey, true)
				if typed {
					m.Parts = append(m.Parts, dataPart(questionPart{QuestionType, q}))
				}
			}
			return a2a.NewStatusUpdateEvent(ec, state, m)
		}
		var given atomic.Int64
		tool := remoteTool(t, serveEvents(t, true, func(ec *a2asrv.ExecutorContext) []a2a.Event {
			if ec.StoredTask != nil {
				if ec.Message.Metadata[AgentKey] != true {
					t.Error("the message of a model is not marked")
				}
				given.Add(1)
				return []a2a.Event{a2a.NewArtifactEvent(ec, a2a.NewTextPart("done")), a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil)}
			}
			erases := VisibleText(ec.Message.Parts) == "erase"
			return []a2a.Event{says(ec, a2a.TaskStateInputRequired, "May I?", erases)}
		}))
		call := func(message, task string) (string, error) {
			arguments, _ := json.Marshal(map[string]string{"message": message, "task": task})
			return tool.Call(t.Context(), agent.Use{Arguments: arguments})
		}
		taskIn := func(text string) string { return regexp.MustCompile(`[0-9a-f-]{36}`).FindString(text) }
		asked, err := call("which", "")
		if err != nil || !strings.Contains(asked, "May I?") {
			t.Fatalf("%q, %v", asked, err)
		}
		if got, err := call("yes", taskIn(asked)); err != nil || got != "done" || given.Swap(0) != 1 {
			t.Errorf("%q, %v", got, err)
		}
		got, err := call("erase", "")
		pause, pauses := errors.AsType[*agent.Pause](err)
		task := ""
		switch {
		case pauses != typed || got != "":
			t.Fatalf("typed %v: %q, %v", typed, got, err)
		case typed:
			if d := cmp.Diff(q, *pause.Consent); d != "" {
				t.Error(d)
			}
			task = taskIn(string(pause.State))
		default:
			task = taskIn(err.Error())
		}
		for range 2 {
			got, err := call("yes", task)
			if err == nil || got != "" || given.Load() != 0 || !strings.Contains(err.Error(), "waits for the consent of a person") {
				t.Errorf("typed %v: %q, %v, given %d times", typed, got, err, given.Load())
			}
		}
		if got, err := call("yes", "no-such-task"); err == nil {
			t.Errorf("%q for a task that does not exist", got)
		}
	}
}

// TestRemoteRefuses: an agent that refuses an answer to its question is an error, and not
// the question again.
func TestRemoteRefuses(t *testing.T) {
	h := serve(t, Config{Mind: mind(Outcome{Question: "Which?"}, nil), Limits: Limits{Messages: 1}})
	tool := remoteTool(t, h.url())
	asked, err := tool.Call(t.Context(), agent.Use{Arguments: json.RawMessage(`{"message":"Hi"}`)})
	if err != nil {
		t.Fatal(err)
	}
	arguments, _ := json.Marshal(map[string]string{"message": "Red.", "task": regexp.MustCompile(`[0-9a-f-]{36}`).FindString(asked)})
	if got, err := tool.Call(t.Context(), agent.Use{Arguments: arguments}); err == nil || !strings.Contains(err.Error(), "which is the limit") {
		t.Errorf("%q, %v", got, err)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A firstEvent is a stream that breaks off after its first event.
type firstEvent struct {
	io.ReadCloser
	over bool
}

func (f *firstEvent) Read(p []byte) (int, error) {
	if f.over {
		return 0, io.ErrUnexpectedEOF
	}
	n := 0
	for n < len(p) && !bytes.HasSuffix(p[:n], []byte("\n\n")) {
		if _, err := io.ReadFull(f.ReadCloser, p[n:n+1]); err != nil {
			return n, err
		}
		n++
	}
	f.over = bytes.HasSuffix(p[:n], []byte("\n\n"))
	return n, nil
}

// TestRemoteBreaksOff: if the stream that answers a question breaks off after an event, the
// agent took the answer, and the result is asked for.
func TestRemoteBreaksOff(t *testing.T) {
	url := serveEvents(t, true, func(ec *a2asrv.ExecutorContext) []a2a.Event {
		if ec.StoredTask == nil {
			return []a2a.Event{a2a.NewStatusUpdateEvent(ec, a2a.TaskStateInputRequired, a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart("Which?")))}
		}
		return []a2a.Event{a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, nil), a2a.NewArtifactEvent(ec, a2a.NewTextPart("Red it is.")), a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil)}
	})
	to := &http.Transport{}
	t.Cleanup(to.CloseIdleConnections)
	breaks := false
	tool, err := Remote{Name: "remote", Description: "r", URL: url, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := to.RoundTrip(r)
		if err == nil && breaks && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			breaks = false
			resp.Body = &firstEvent{ReadCloser: resp.Body}
		}
		return resp, err
	})}.Tool()
	if err != nil {
		t.Fatal(err)
	}
	asked, err := tool.Call(t.Context(), agent.Use{Arguments: json.RawMessage(`{"message":"Hi"}`)})
	if err != nil || !strings.Contains(asked, "Which?") {
		t.Fatalf("%q, %v", asked, err)
	}
	breaks = true
	arguments, _ := json.Marshal(map[string]string{"message": "Red.", "task": regexp.MustCompile(`[0-9a-f-]{36}`).FindString(asked)})
	if got, err := tool.Call(t.Context(), agent.Use{Arguments: arguments}); err != nil || got != "Red it is." || breaks {
		t.Errorf("%q, %v, broken off: %v", got, err, !breaks)
	}
}

// A remoteCaller calls the remote agent, and then repeats the result.
type remoteCaller struct{}

func (remoteCaller) Name() string { return "caller" }

func (remoteCaller) Invoke(_ context.Context, q model.Request, _ func(model.Delta) error) (model.Reply, error) {
	last := q.Messages[len(q.Messages)-1]
	if last.Role == model.User {
		return model.Reply{Calls: []model.Call{{ID: "a", Name: "remote", Arguments: `{"message":"<think>SECRET</think>Hi"}`}}, End: sotto.EndStopped}, nil
	}
	return model.Reply{Raw: "It says: " + last.Text, End: sotto.EndStopped}, nil
}

// TestRemoteNarrates: the status updates of a remote agent are narration of the caller,
// without thoughts, and what a thought of the caller says does not reach it.
func TestRemoteNarrates(t *testing.T) {
	h := serve(t, Config{Mind: mindFunc(func(_ context.Context, turn Turn, on func(Event) error) (Outcome, error) {
		for _, e := range []Event{Reasoning{Text: "SECRET"}, Narration{Text: "I look <think>SECRET</think>it up."}} {
			if err := on(e); err != nil {
				return Outcome{}, err
			}
		}
		return Outcome{Text: "heard " + turn.Text, End: sotto.EndStopped}, nil
	})})
	var mu sync.Mutex
	narrated := ""
	a := agent.Agent{Turn: agent.Turn{Model: remoteCaller{}, Tools: []agent.Tool{remoteTool(t, h.url())}}}
	out, err := a.Answer(t.Context(), agent.Conversation{Messages: []model.Message{{Role: model.User, Text: "Ask."}}}, func(e agent.Event) error {
		mu.Lock()
		defer mu.Unlock()
		if n, ok := e.(agent.Narration); ok {
			narrated += n.Text
		}
		return nil
	})
	if err != nil || out.Answer != "It says: heard Hi" {
		t.Errorf("%q, %v", out.Answer, err)
	}
	if !strings.Contains(narrated, "remote: I look it up.\n") || strings.Contains(narrated, "SECRET") || strings.Contains(narrated, "heard") {
		t.Errorf("narrated %q", narrated)
	}
}

// TestRemoteCanceled: if a call is canceled, so is the task of the remote agent.
func TestRemoteCanceled(t *testing.T) {
	began, ended := make(chan string, 1), make(chan error, 1)
	h := serve(t, Config{Mind: mindFunc(func(ctx context.Context, turn Turn, _ func(Event) error) (Outcome, error) {
		began <- turn.Task
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return Outcome{}, ctx.Err()
	})})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := remoteTool(t, h.url()).Call(ctx, agent.Use{Arguments: json.RawMessage(`{"message":"Hi"}`)})
		done <- err
	}()
	id := <-began
	stop()
	if err := <-done; err == nil {
		t.Error("the call has a result")
	}
	<-ended
	task, err := client(t, h.url(), 0).GetTask(t.Context(), &a2a.GetTaskRequest{ID: a2a.TaskID(id)})
	if err != nil || task.Status.State != a2a.TaskStateCanceled {
		t.Errorf("%v, %v", fmt.Sprint(task), err)
	}
}

// TestRemoteTrace: a message carries its place in the trace, so that an agent behind a proxy
// that drops the header gets it too. Outside a trace it carries none.
func TestRemoteTrace(t *testing.T) {
	said := make(chan any, 1)
	tool := remoteTool(t, serveEvents(t, true, func(ec *a2asrv.ExecutorContext) []a2a.Event {
		said <- ec.Message.Metadata[tracecontext.Name]
		return []a2a.Event{a2a.NewArtifactEvent(ec, a2a.NewTextPart("done")), a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil)}
	}))
	place := tracecontext.Of("a run").Child("a call")
	for ctx, want := range map[context.Context]any{t.Context(): nil, tracecontext.With(t.Context(), place): place.String()} {
		if _, err := tool.Call(ctx, agent.Use{Arguments: json.RawMessage(`{"message":"Hi"}`)}); err != nil {
			t.Fatal(err)
		}
		if got := <-said; got != want {
			t.Errorf("the message says %v, want %v", got, want)
		}
	}
}
