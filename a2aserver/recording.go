package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/record"
)

// errUnrecorded is the error of a turn that could not be recorded.
var errUnrecorded = errors.New("the record cannot be written")

// A recording writes tasks into the record. A task is a run, named by its id, and a
// message to it is a cycle. What the mind thinks in a cycle the mind records, as
// agents do ([agent.Turn]). A nil recording records nothing.
//
// What cannot be recorded does not become an answer. The end of a run is recorded
// when the end of its task is stored, and does not wait.
type recording struct {
	w            *record.Writer
	agent, model string

	mu    sync.Mutex
	turns map[a2a.TaskID]*record.RunEnd // of tasks that a mind works on; not nil if the task ended meanwhile
}

func newRecording(c *Config, card Card) *recording {
	if c.Record == nil {
		return nil
	}
	r := &recording{w: c.Record, agent: card.Name, turns: map[a2a.TaskID]*record.RunEnd{}}
	if m, ok := c.Mind.(interface{ modelName() string }); ok {
		r.model = m.modelName()
	}
	return r
}

// writer returns the record, for minds.
func (r *recording) writer() *record.Writer {
	if r == nil {
		return nil
	}
	return r.w
}

// id returns the identity of the record; "" if there is none.
func (r *recording) id() string {
	if r == nil {
		return ""
	}
	return r.w.ID()
}

// ended records that a task has ended, after the end of the turn that is in
// progress.
func (r *recording) ended(task *row) {
	if r == nil || !task.Recorded || len(task.Records) > 0 && !slices.Contains(task.Records, r.id()) || task.Task.Status.State == a2a.TaskStateRejected {
		return
	}
	end := record.RunEnd{Status: string(task.Task.Status.State), Cycles: task.entry().said}
	if ending, ok := task.Task.Metadata[OutcomeKey].(string); ok {
		end.Status = ending
	}
	for _, a := range task.Task.Artifacts {
		end.Result = record.Say(VisibleText(a.Parts))
	}
	r.mu.Lock()
	_, busy := r.turns[task.Task.ID]
	if busy {
		r.turns[task.Task.ID] = &end
	}
	r.mu.Unlock()
	if !busy {
		r.w.Enqueue(record.Event{Run: string(task.Task.ID), Payload: end})
	}
}

// unended returns the runs of the record that have begun and not ended. It reads only
// the index.
func (r *recording) unended() (map[string]bool, error) {
	in, err := record.OpenReader(r.w.Dir(), record.ReadOptions{})
	if err != nil {
		return nil, err
	}
	open := map[string]bool{}
	for e, err := range in.Entries(record.Query{Types: []record.Type{record.TypeRunStart, record.TypeRunEnd}}) {
		switch {
		case err != nil:
			return nil, err
		case e.Type == record.TypeRunEnd:
			delete(open, e.Run)
		default:
			open[e.Run] = true
		}
	}
	return open, nil
}

// begin records that a mind begins to work on a message, and before the first one
// that its task begins.
func (r *recording) begin(ctx context.Context, t *Turn) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	r.turns[a2a.TaskID(t.Task)] = nil
	r.mu.Unlock()
	var err error
	cycle := record.CycleStart{Goal: record.Say(t.Text)}
	if t.Cycle == 1 || t.begins {
		ids := agent.TraceIDs(ctx, map[string]string{"context": t.Context})
		start := record.RunStart{Agent: r.agent, Model: r.model, Caller: t.Caller, IDs: ids, Goal: record.Say(t.Text)}
		err = r.put(t.Run, 0, start)
	} else {
		cycle.IDs = agent.TraceIDs(ctx, nil)
	}
	if err == nil {
		err = r.put(t.Run, t.Cycle, cycle)
	}
	if err != nil {
		r.done(*t)
	}
	return err
}

// end records how the work on a message ended.
func (r *recording) end(t Turn, e ended, out Outcome, took time.Duration) error {
	if r == nil {
		return nil
	}
	defer r.done(t)
	return r.put(t.Run, t.Cycle, record.CycleEnd{
		Status: string(e.ending), Millis: took.Milliseconds(), Metrics: out.Metrics, Of: out.Of, Summary: record.Say(e.text + out.Question), Reasoning: agent.CycleThoughts(out.Thoughts),
	})
}

func (r *recording) put(run string, cycle int, p record.Payload) error {
	_, err := r.w.Append(context.Background(), record.Event{Run: run, Cycle: cycle, Payload: p})
	if err != nil {
		return fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	return nil
}

// done ends the work on a message. If the task ended meanwhile, that is recorded
// now.
func (r *recording) done(t Turn) {
	r.mu.Lock()
	end := r.turns[a2a.TaskID(t.Task)]
	delete(r.turns, a2a.TaskID(t.Task))
	r.mu.Unlock()
	if end != nil {
		r.w.Enqueue(record.Event{Run: t.Run, Payload: *end})
	}
}
