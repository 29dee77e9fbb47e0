package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/record"
)

// A turnLog keeps the events of the run that is going, so that another process can go on with it.
type turnLog struct {
	hold  hold
	of    *current
	lines int
	// spent is how long earlier processes worked on the run, and began when this one began.
	spent time.Duration
	began time.Time
	// fault is why the log cannot be read or written.
	fault error
}

var _ agent.TurnLog = (*turnLog)(nil)

// A logged is an event as it is kept.
type logged struct {
	Millis  int64           `json:"ms"` // that the run had taken
	Run     string          `json:"run"`
	Cycle   int             `json:"cycle"`
	Type    record.Type     `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// openLog reads the log of a run.
func openLog(h hold, of *current) (l *turnLog, past []logged, err error) {
	l = &turnLog{hold: h, of: of, began: time.Now()}
	lines, err := h.log(of.Due)
	if err != nil {
		return nil, nil, err
	}
	for i, line := range lines {
		var e logged
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, nil, fmt.Errorf("event %d of the run: %w", i+1, err)
		}
		past = append(past, e)
		l.spent = time.Duration(e.Millis) * time.Millisecond
	}
	l.lines = len(lines)
	return l, past, nil
}

// ID implements [agent.TurnLog].
func (l *turnLog) ID() string { return l.of.ID }

// Past implements [agent.TurnLog].
func (l *turnLog) Past(context.Context) (list []record.Event, err error) {
	_, past, err := openLog(l.hold, l.of)
	l.fault = err
	for i, e := range past {
		list = append(list, record.Event{V: record.Version, Seq: uint64(i + 1), Run: e.Run, Cycle: e.Cycle, Type: e.Type, Payload: record.ReadPayload(e.Type, e.Payload)})
	}
	return list, err
}

// Keep implements [agent.TurnLog].
func (l *turnLog) Keep(_ context.Context, e record.Event) error {
	payload, err := json.Marshal(e.Payload)
	if err != nil {
		return err
	}
	took := l.spent + time.Since(l.began)
	line, err := json.Marshal(logged{took.Milliseconds(), e.Run, e.Cycle, e.Payload.Type(), payload})
	if err != nil {
		return err
	}
	point("before keep")
	defer point("after keep")
	if err := l.hold.add(l.of.Due, l.lines, line); err != nil {
		l.fault = err
		return err
	}
	l.lines++
	return nil
}
