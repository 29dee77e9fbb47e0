package probe_test

import (
	"context"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto/a2aserver/probe"
)

// A strange agent emits the events that it is told to.
type strange func(*a2asrv.ExecutorContext) []a2a.Event

func (s strange) Execute(_ context.Context, ec *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for _, e := range s(ec) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (strange) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}

func piece(ec *a2asrv.ExecutorContext, text string, more bool) a2a.Event {
	e := a2a.NewArtifactUpdateEvent(ec, "a", a2a.NewTextPart(text))
	e.Append = more
	return e
}

// TestStrange: each fault is found, and no other, at servers made with the bare
// SDK.
func TestStrange(t *testing.T) {
	task := func(ec *a2asrv.ExecutorContext) a2a.Event { return a2a.NewSubmittedTask(ec, ec.Message) }
	done := func(ec *a2asrv.ExecutorContext) a2a.Event {
		return a2a.NewStatusUpdateEvent(ec, a2a.TaskStateCompleted, nil)
	}
	for _, c := range []struct {
		name  string
		agent strange
		want  []string
	}{
		{"in order", func(ec *a2asrv.ExecutorContext) []a2a.Event {
			return []a2a.Event{task(ec), piece(ec, "Four.", false), done(ec)}
		}, nil},
		{"a leak that the end mends", func(ec *a2asrv.ExecutorContext) []a2a.Event {
			return []a2a.Event{task(ec), piece(ec, "<think>pl", false), piece(ec, "an</think>Fo", true), piece(ec, "Four.", false), done(ec)}
		}, []string{"stream leak"}},
		{"a marked part", func(ec *a2asrv.ExecutorContext) []a2a.Event {
			e := a2a.NewArtifactEvent(ec, a2a.NewTextPart("plan"), a2a.NewTextPart("Four."))
			e.Artifact.Parts[0].SetMeta("adk_thought", true)
			return []a2a.Event{task(ec), e, done(ec)}
		}, []string{"artifact leak", "stream leak"}},
		{"a leak in a message", func(ec *a2asrv.ExecutorContext) []a2a.Event {
			m := a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart("<think>plan</think>I look."))
			return []a2a.Event{task(ec), a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, m), piece(ec, "Four.", false), done(ec)}
		}, []string{"message leak", "stream leak"}},
		{"a leak beside metadata", func(ec *a2asrv.ExecutorContext) []a2a.Event {
			m := a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart("<think>plan</think>I look."))
			m.Parts[0].SetMeta("lang", "en")
			return []a2a.Event{task(ec), a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, m), piece(ec, "Four.", false), done(ec)}
		}, []string{"message leak", "stream leak"}},
		{"reasoning in its place", func(ec *a2asrv.ExecutorContext) []a2a.Event {
			m := a2a.NewMessageForTask(a2a.MessageRoleAgent, ec, a2a.NewTextPart("<think>plan</think>"))
			m.Parts[0].SetMeta("adk_thought", true)
			return []a2a.Event{task(ec), a2a.NewStatusUpdateEvent(ec, a2a.TaskStateWorking, m), piece(ec, "Four.", false), done(ec)}
		}, nil},
		{"a leak over two parts", func(ec *a2asrv.ExecutorContext) []a2a.Event {
			return []a2a.Event{task(ec), a2a.NewArtifactEvent(ec, a2a.NewTextPart("plan</thi"), a2a.NewTextPart("nk>Four.")), done(ec)}
		}, []string{"artifact leak", "stream leak"}},
		{"a leak in data", func(ec *a2asrv.ExecutorContext) []a2a.Event {
			data := map[string]any{"answers": []any{map[string]any{"text": "<think>plan</think>Four."}}}
			return []a2a.Event{task(ec), a2a.NewArtifactEvent(ec, a2a.NewDataPart(data)), done(ec)}
		}, []string{"artifact leak", "stream leak"}},
		{"a leak in the history", func(ec *a2asrv.ExecutorContext) []a2a.Event {
			first := a2a.NewSubmittedTask(ec, ec.Message)
			first.History = append(first.History, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("<think>plan</think>I look.")))
			return []a2a.Event{first, piece(ec, "Four.", false), done(ec)}
		}, []string{"message leak", "stream leak"}},
		{"no answer", func(ec *a2asrv.ExecutorContext) []a2a.Event {
			return []a2a.Event{task(ec), done(ec)}
		}, []string{"outcome"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := bare(t, c.agent)
			got := found(r)
			for name := range bareFaults {
				delete(got, name)
			}
			want := map[string]bool{}
			for _, name := range c.want {
				want[name] = true
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// bareFaults are what is wrong with any server made with the bare SDK: it looks
// at no version, and lists nothing for who has no name.
var bareFaults = map[string]bool{"unknown version": true, "list": true}

// bare probes an agent behind the bare SDK.
func bare(t *testing.T, agent strange) *probe.Report {
	t.Helper()
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	defer web.Close()
	card := &a2a.AgentCard{
		Name: "strange", Description: "d", Version: "1", DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Skills:              []a2a.AgentSkill{{ID: "s", Name: "s", Description: "s"}},
		Capabilities:        a2a.AgentCapabilities{Streaming: true},
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(web.URL+"/rpc", a2a.TransportProtocolJSONRPC)},
	}
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(card))
	mux.Handle("/rpc", a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(agent, a2asrv.WithLogger(slog.New(slog.DiscardHandler)))))
	return look(t, web.URL, "")
}
