package scheduler

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sotto-llm/sotto/internal/agents/schedule"
)

var (
	// errElsewhere is the error of a schedule that another process works on.
	errElsewhere = errors.New("another process has the schedule")
	// errLost is the error of a change by a process that had a schedule.
	errLost = errors.New("another process has the schedule now")
)

// A Keeper keeps what is known of schedules, for the processes that share it.
type Keeper interface {
	// take makes this process the one that works on a schedule, until it ends or gives it up.
	take(id name) (hold, error)
	// read returns what is known of a schedule; nil if nothing is.
	read(id name) (*state, error)
}

// A hold is a schedule that this process works on. Each change is kept whole or not at all, and
// only if this process still has the schedule.
type hold interface {
	state() *state // nil if nothing is known
	put(*state) error
	// add adds a line to the log of the run that is due at a time, which has n lines.
	add(due time.Time, n int, line []byte) error
	// log returns the lines of that log, and drop removes it.
	log(due time.Time) ([][]byte, error)
	drop(due time.Time) error
	// lost is closed when another process has the schedule.
	lost() <-chan struct{}
	release()
}

// A name is that of a schedule, within its agent.
type name struct{ agent, schedule string }

func (n name) String() string { return n.agent + "/" + n.schedule }

// key is a name for files.
func (n name) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(n.agent), n.agent, n.schedule))
	return hex.EncodeToString(sum[:16])
}

// version is that of the states that this package writes.
const version = 1

// A state is what is known of a schedule.
type state struct {
	V        int    `json:"v"`
	Agent    string `json:"agent"`
	Schedule string `json:"schedule"`
	// When and Zone are the form for which After holds.
	When string `json:"when"`
	Zone string `json:"zone"`
	// After is the time up to which all that was due is dealt with.
	After time.Time `json:"after"`
	// Touched is when this was last written.
	Touched time.Time `json:"touched"`
	// Holder is the process that has the schedule, where replicas share it.
	Holder string `json:"holder,omitempty"`
	// Current is the run that is going, or was when its process ended.
	Current *current       `json:"current,omitempty"`
	Past    []schedule.Run `json:"past,omitempty"` // the latest last
}

// A current is a run that has not ended, with what is needed to go on with it.
type current struct {
	schedule.Run
	Task string        `json:"task"`
	Time time.Duration `json:"time"`
	// ID distinguishes the turn from every other one, in every process.
	ID string `json:"id"`
}

// maxPast bounds the runs that are kept of a schedule.
const maxPast = 100

// ended adds a run to those that have ended. Times of which nothing came join those before.
func (s *state) ended(r schedule.Run) {
	if n := len(s.Past); n > 0 && r.Times > 0 {
		if last := &s.Past[n-1]; last.Times > 0 && last.Outcome == r.Outcome {
			last.Until, last.Times = r.Until, last.Times+r.Times
			return
		}
	}
	s.Past = append(s.Past, r)
	s.Past = s.Past[max(0, len(s.Past)-maxPast):]
}

func parseState(data []byte) (*state, error) {
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("what is known of a schedule cannot be parsed: %w", err)
	}
	if s.V != version {
		return nil, fmt.Errorf("what is known of a schedule has the version %d: this program knows %d", s.V, version)
	}
	return &s, nil
}

func (s *state) encode() ([]byte, error) {
	s.V, s.Touched = version, time.Now().UTC()
	return json.Marshal(s)
}
