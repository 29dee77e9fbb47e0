package schedule

import (
	"time"

	"github.com/sotto-llm/sotto/record"
)

// How a run that is due ended, or why there was none, in addition to the statuses of agents
// (answered, bounded, failed and others).
const (
	// Running is the outcome of a run that has not ended.
	Running = "running"
	// Late is that of a run that took longer than it may.
	Late = "time"
	// Interrupted is that of a run whose processes ended too often.
	Interrupted = "interrupted"
	// Skipped is that of times at which the run before was still going.
	Skipped = "skipped"
	// Missed is that of times at which no gateway ran.
	Missed = "missed"
)

// A Run is one that was due, or several times at which there was none.
type Run struct {
	Due time.Time `json:"due"`
	// Until is the last of Times times that were skipped or missed.
	Until   time.Time `json:"until,omitzero"`
	Times   int       `json:"times,omitempty"`
	Outcome string    `json:"outcome"`
	Began   time.Time `json:"began,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	// Run is its name in a record, and Record the identity of that record, "" if it was not
	// recorded. Each process that works on a run records it under a name of its own.
	Run    string `json:"run,omitempty"`
	Record string `json:"record,omitempty"`
	// Processes is how many worked on it.
	Processes int `json:"processes,omitempty"`
	// Answer is the beginning of what the agent said, and Fault why there is no answer.
	Answer record.Text `json:"answer,omitempty"`
	Fault  record.Text `json:"fault,omitempty"`
}

// A Status is what is known of a schedule of an agent.
type Status struct {
	Agent string `json:"agent"`
	Name  string `json:"name"`
	When  string `json:"when"`
	Zone  string `json:"zone"`
	// Next are the times that come next.
	Next []time.Time `json:"next"`
	// Past are the last runs, the latest first.
	Past []Run `json:"runs"`
}

// Following returns the next times after one, at most so many.
func (s *Schedule) Following(after time.Time, most int) (list []time.Time) {
	for at := s.Next(after); len(list) < most && !at.IsZero(); at = s.Next(at) {
		list = append(list, at)
	}
	return list
}
