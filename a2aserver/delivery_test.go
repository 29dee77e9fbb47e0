package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
)

const thinking = `{"text":"<think>The user is testing me. SECRET</think>Forty-two.","cut":"byte"}`

// TestClients has the official client talk to the server in every way that the
// card declares, streamed and not.
func TestClients(t *testing.T) {
	h := serve(t, Config{Mind: scripted(t, thinking)})
	for i, b := range bindings {
		t.Run(b.name, func(t *testing.T) {
			c := client(t, h.url(), i)
			task := send(t, c, message("What is 6 × 7?"))
			if text, ending := answerOf(t, task); text != "Forty-two." || ending != Answered || task.Status.State != a2a.TaskStateCompleted {
				t.Errorf("%q, %s, %s", text, ending, task.Status.State)
			}
			var states []string
			for _, e := range stream(t, c, message("And again?")) {
				switch e := e.(type) {
				case *a2a.Task:
					states = append(states, "task "+e.Status.State.String())
				case *a2a.TaskStatusUpdateEvent:
					states = append(states, e.Status.State.String())
				case *a2a.TaskArtifactUpdateEvent:
					states = append(states, "artifact "+e.Artifact.Parts[0].Text())
				}
				if said, err := json.Marshal(e); err != nil || strings.Contains(string(said), "SECRET") {
					t.Errorf("%s, %v", said, err)
				}
			}
			want := []string{"task TASK_STATE_SUBMITTED", "TASK_STATE_WORKING", "artifact Forty-two.", "TASK_STATE_COMPLETED"}
			if d := cmp.Diff(want, states); d != "" {
				t.Error(d)
			}
			again, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: task.ID})
			if err != nil {
				t.Fatal(err)
			}
			if text, _ := answerOf(t, again); text != "Forty-two." || len(again.History) != 1 {
				t.Errorf("got again: %q, %d messages", text, len(again.History))
			}
		})
	}
}

// TestEndings holds each way that a turn can end to what the client sees of it.
func TestEndings(t *testing.T) {
	broken := errors.New("http://user:secret@10.0.0.1: boom")
	for _, c := range []struct {
		name   string
		mind   Mind
		state  a2a.TaskState
		ending Ending
		text   string
	}{
		{"answered", says("Yes."), a2a.TaskStateCompleted, Answered, "Yes."},
		{"cut", mind(Outcome{Text: "Yes and", End: sotto.EndCut}, nil), a2a.TaskStateCompleted, CutOff, "Yes and"},
		{"nothing", mind(Outcome{Text: " \n", End: sotto.EndStopped}, nil), a2a.TaskStateFailed, NoVisibleAnswer, ""},
		{"cut in thought", mind(Outcome{End: sotto.EndCut}, nil), a2a.TaskStateFailed, NoVisibleAnswer, ""},
		{"broken", mind(Outcome{Text: "Yes b"}, broken), a2a.TaskStateFailed, Aborted, "Yes b"},
		{"broken at once", mind(Outcome{}, broken), a2a.TaskStateFailed, Aborted, ""},
		{"aborted", mind(Outcome{Text: "Yes b", End: sotto.EndAborted}, nil), a2a.TaskStateFailed, Aborted, "Yes b"},
		{"asked", mind(Outcome{Question: "Which?"}, nil), a2a.TaskStateInputRequired, Asked, ""},
		{"panicked", mindFunc(func(context.Context, Turn, func(Event) error) (Outcome, error) { panic("oh") }), a2a.TaskStateFailed, Aborted, ""},
		{"too long", mindFunc(func(_ context.Context, _ Turn, on func(Event) error) (Outcome, error) {
			for {
				if err := on(Visible{Text: strings.Repeat("a", 100)}); err != nil {
					return Outcome{}, err
				}
			}
		}), a2a.TaskStateCompleted, CutOff, strings.Repeat("a", 1000)},
		{"too long at once", says("a" + strings.Repeat("é", 1000)), a2a.TaskStateCompleted, CutOff, "a" + strings.Repeat("é", 499)},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serve(t, Config{Mind: c.mind, Limits: Limits{Answer: 1000}})
			task := send(t, client(t, h.url(), 0), message("Hi"))
			text, ending := answerOf(t, task)
			if task.Status.State != c.state || ending != c.ending || text != c.text {
				t.Errorf("%s %s %q, want %s %s %q", task.Status.State, ending, text, c.state, c.ending, c.text)
			}
			needsWord := c.state != a2a.TaskStateCompleted
			if said := task.Status.Message; (said != nil) != needsWord || said != nil && strings.Contains(said.Parts[0].Text(), "secret") {
				t.Errorf("status message %+v", said)
			}
		})
	}
}

func mind(o Outcome, err error) Mind {
	return mindFunc(func(context.Context, Turn, func(Event) error) (Outcome, error) { return o, err })
}

// A busy mind narrates, thinks and uses tools without end.
func busy(rounds int, pause time.Duration) Mind {
	return mindFunc(func(_ context.Context, _ Turn, on func(Event) error) (Outcome, error) {
		for i := range rounds {
			for _, e := range []Event{
				Narration{Text: fmt.Sprintf("Step %d. ", i)}, Reasoning{Text: "SECRET "}, Alive{},
				ToolStart{ID: fmt.Sprint(i), Name: "search"}, ToolEnd{ID: fmt.Sprint(i), Name: "search", Failed: i%2 == 1},
			} {
				if err := on(e); err != nil {
					return Outcome{}, err
				}
			}
			time.Sleep(pause)
		}
		return Outcome{Text: "Done.", End: sotto.EndStopped}, nil
	})
}

// updates runs a mind outside of any transport and returns its messages.
func updates(t *testing.T, s *Server, m Mind, extensions string) (messages []*a2a.Message, last *a2a.TaskStatusUpdateEvent) {
	t.Helper()
	s.mind = m
	ctx, _ := a2asrv.NewCallContext(t.Context(), a2asrv.NewServiceParams(map[string][]string{"A2A-Extensions": {extensions}}))
	ec := &a2asrv.ExecutorContext{TaskID: "t", ContextID: "c", Message: message("Hi").Message}
	for e, err := range (&executor{s}).Execute(ctx, ec) {
		if err != nil {
			t.Fatal(err)
		}
		if u, ok := e.(*a2a.TaskStatusUpdateEvent); ok {
			last = u
			if u.Status.Message != nil {
				messages = append(messages, u.Status.Message)
			}
		}
	}
	s.done(ec)
	return messages, last
}

// TestProgressIsFew bounds the updates of a task by its age: a day's work with a
// tool call a second has about a hundred, and what they hold is bounded too.
func TestProgressIsFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Mind: says("")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		messages, last := updates(t, s, busy(24*60*60, time.Second), "")
		size := 0
		for _, m := range messages {
			data, _ := json.Marshal(m)
			size += len(data)
			if len(m.Parts) > progressParts+2 || m.Metadata[ProgressKey] != true {
				t.Errorf("%d parts, %v", len(m.Parts), m.Metadata)
			}
		}
		if len(messages) < 20 || len(messages) > 120 || size > 1<<20 {
			t.Errorf("%d updates, %d bytes", len(messages), size)
		}
		if last.Status.State != a2a.TaskStateCompleted {
			t.Error(last.Status.State)
		}
	})
}

// TestProgressIsWhole: of a few events none is lost, in their order, however
// they were put together; reasoning is told only if it was asked for and is
// allowed, and then it is marked.
func TestProgressIsWhole(t *testing.T) {
	for _, c := range []struct {
		allowed bool
		asked   string
		told    bool
	}{{true, ReasoningExtension, true}, {true, "", false}, {false, ReasoningExtension, false}} {
		s, err := New(Config{Mind: says(""), Reasoning: c.allowed})
		if err != nil {
			t.Fatal(err)
		}
		messages, _ := updates(t, s, busy(2, time.Millisecond), c.asked)
		var got []string
		secret := false
		for _, m := range messages {
			for _, p := range m.Parts {
				if IsThought(p) {
					secret = true
					continue
				}
				if strings.Contains(p.Text(), "SECRET") {
					t.Errorf("not marked: %+v", p)
				}
				got = append(got, p.Text())
			}
		}
		want := []string{"Step 0. ", "search: started", "search: done", "Step 1. ", "search: started", "search: failed"}
		if d := cmp.Diff(want, got); d != "" || secret != c.told {
			t.Errorf("%+v: reasoning told: %v\n%s", c, secret, d)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestSilence ends what says nothing, and nothing that goes on, however long.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Mind: says(""), Silence: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		_, last := updates(t, s, mindFunc(func(_ context.Context, _ Turn, on func(Event) error) (Outcome, error) {
			for range 600 {
				time.Sleep(59 * time.Second)
				if err := on(Alive{}); err != nil {
					return Outcome{}, err
				}
			}
			return Outcome{Text: "Slow."}, nil
		}), "")
		if last.Metadata[OutcomeKey] != string(Answered) {
			t.Errorf("a slow mind: %v", last.Metadata)
		}
		_, last = updates(t, s, mindFunc(func(ctx context.Context, _ Turn, on func(Event) error) (Outcome, error) {
			_ = on(Visible{Text: "So f"})
			<-ctx.Done()
			return Outcome{}, ctx.Err()
		}), "")
		if last.Metadata[OutcomeKey] != string(Silent) || last.Status.State != a2a.TaskStateFailed {
			t.Errorf("a silent mind: %v", last.Metadata)
		}
	})
}

// TestThoughtsComeIn: parts that another agent marked as reasoning do not reach
// the mind.
func TestThoughtsComeIn(t *testing.T) {
	got := make(chan Turn, 1)
	h := serve(t, Config{Mind: mindFunc(func(_ context.Context, turn Turn, _ func(Event) error) (Outcome, error) {
		got <- turn
		return Outcome{Text: "OK."}, nil
	})})
	for i, b := range bindings {
		req := message("Visible.")
		thought := a2a.NewTextPart("SECRET")
		thought.SetMeta(ThoughtKey, true)
		req.Message.Parts = append(a2a.ContentParts{thought}, req.Message.Parts...)
		send(t, client(t, h.url(), i), req)
		if turn := <-got; turn.Text != "Visible." {
			t.Errorf("%s: %q", b.name, turn.Text)
		}
	}
}

// TestConversation: the mind gets what was said before in the context, and no
// progress, reasoning or other context.
func TestConversation(t *testing.T) {
	turns := make(chan Turn, 8)
	h := serve(t, Config{Mind: mindFunc(func(_ context.Context, turn Turn, on func(Event) error) (Outcome, error) {
		turns <- turn
		_ = on(Narration{Text: "Looking."})
		return Outcome{Text: "Answer to " + turn.Text}, nil
	})})
	c := client(t, h.url(), 0)
	first := send(t, c, message("one"))
	<-turns
	send(t, c, message("elsewhere"))
	<-turns
	for _, text := range []string{"two", "three"} {
		req := message(text)
		req.Message.ContextID = first.ContextID
		send(t, c, req)
	}
	<-turns
	want := []Said{{false, "one"}, {true, "Answer to one"}, {false, "two"}, {true, "Answer to two"}}
	if d := cmp.Diff(want, (<-turns).Earlier); d != "" {
		t.Error(d)
	}
}

// TestPieces: a client that asks gets the answer in pieces, each of them true,
// and then the whole; one that does not ask gets the whole alone.
func TestPieces(t *testing.T) {
	text := strings.Repeat("日本語 ", 40)
	h := serve(t, Config{Mind: mindFunc(func(_ context.Context, _ Turn, on func(Event) error) (Outcome, error) {
		for i := range len(text) {
			if i == len(text)/2 {
				time.Sleep(100 * time.Millisecond) // what came before is due by now, on a busy machine too
			}
			if err := on(Visible{Text: text[i : i+1]}); err != nil {
				return Outcome{}, err
			}
		}
		return Outcome{Text: text}, nil
	})})
	h.gaps = gaps{}
	for i, b := range bindings {
		for _, asked := range []bool{true, false} {
			var headers []string
			if asked {
				headers = []string{"A2A-Extensions", ChunksExtension}
			}
			var joined string
			pieces := 0
			for _, e := range stream(t, client(t, h.url(), i, headers...), message("Hi")) {
				u, ok := e.(*a2a.TaskArtifactUpdateEvent)
				switch {
				case !ok:
				case u.LastChunk:
					if whole := u.Artifact.Parts[0].Text(); whole != text || u.Append || !strings.HasPrefix(text, joined) {
						t.Errorf("%s: %q, after pieces %q", b.name, whole, joined)
					}
				default:
					if pieces++; u.Append != (pieces > 1) {
						t.Errorf("%s: piece %d appends: %v", b.name, pieces, u.Append)
					}
					joined += u.Artifact.Parts[0].Text()
				}
			}
			if (pieces > 1) != asked {
				t.Errorf("%s: %d pieces, asked: %v", b.name, pieces, asked)
			}
		}
	}
}
