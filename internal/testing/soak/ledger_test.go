//go:build linux

package soak

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// A ledger compares the exchanges of the clients with those of the record. Each client
// names its exchanges in the header X-Load, and the record has that name.
type ledger struct {
	t   *testing.T
	dir string

	mu      sync.Mutex
	entries map[string]*entry
	kinds   map[string]*tally
	last    uint64   // of the events that were read
	events  int      // of them with an exchange
	begun   int      // … that the gateway did not refuse by itself
	strange []string // without a name
}

// An entry is one client. A record must have as many exchanges as it made. Those that left before
// an answer came cannot know: they allow fewer.
type entry struct {
	kind              *kind
	least, most, seen int
	done              bool
}

// A tally is what the clients of a kind made.
type tally struct {
	clients, exchanges int
	outcomes           map[string]int
}

func newLedger(t *testing.T, dir string) *ledger {
	return &ledger{t: t, dir: dir, entries: map[string]*entry{}, kinds: map[string]*tally{}}
}

// begin notes a client before its first request.
func (l *ledger) begin(id string, k *kind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[id] = &entry{kind: k}
	if l.kinds[k.name] == nil {
		l.kinds[k.name] = &tally{outcomes: map[string]int{}}
	}
	l.kinds[k.name].clients++
}

// end notes what a client made.
func (l *ledger) end(id string, least, most int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[id]
	e.least, e.most, e.done = least, most, true
	l.settle(id, e)
}

// settle forgets a client whose exchanges are all recorded. A further event of it is then
// one without a client.
func (l *ledger) settle(id string, e *entry) {
	if e.done && e.seen == e.most {
		delete(l.entries, id)
	}
}

// read reads the new events of the record.
func (l *ledger) read() {
	r, err := record.OpenReader(l.dir, record.ReadOptions{NoPrompts: true, NoIndex: true})
	if err != nil {
		l.t.Error(err)
		return
	}
	for e, err := range r.Events(record.Query{After: l.last}) {
		if err != nil {
			l.t.Errorf("after event %d: %v", l.last, err)
			return
		}
		l.mu.Lock()
		l.note(e)
		l.mu.Unlock()
	}
}

func (l *ledger) note(e record.Event) {
	if l.last != 0 && e.Seq != l.last+1 {
		l.strange = append(l.strange, fmt.Sprintf("event %d comes after %d: pruned before it was read, or missing", e.Seq, l.last))
	}
	l.last = e.Seq
	switch p := e.Payload.(type) {
	case record.Exchange:
		l.exchange(e.Seq, p)
	case record.Failure:
		l.strange = append(l.strange, fmt.Sprintf("event %d is an error: %.300s", e.Seq, e.Line()))
	}
}

func (l *ledger) exchange(seq uint64, x record.Exchange) {
	l.events++
	if x.Model != "" || x.Outcome != "refused" {
		l.begun++
	}
	id := x.IDs["X-Load"]
	e := l.entries[id]
	if e == nil {
		l.strange = append(l.strange, fmt.Sprintf("event %d: an exchange of %q (%s %s) that no client made, or made twice", seq, id, x.Caller, x.Model))
		return
	}
	e.seen++
	tally := l.kinds[e.kind.name]
	tally.exchanges++
	tally.outcomes[x.Outcome]++
	if !slices.Contains(e.kind.outcomes, x.Outcome) && len(l.strange) < 100 {
		l.strange = append(l.strange, fmt.Sprintf("event %d of %s is recorded as %s: %s", seq, id, x.Outcome, x.Error))
	}
	l.settle(id, e)
}

// missing lists the clients whose exchanges are not all recorded.
func (l *ledger) missing() (list []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, e := range l.entries {
		if e.seen < e.least || e.seen > e.most || !e.done {
			list = append(list, fmt.Sprintf("%s is recorded %d times, want %d to %d", id, e.seen, e.least, e.most))
		}
	}
	slices.Sort(list)
	return list
}

// report shows what each kind of client made.
func (l *ledger) report() {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for name, k := range l.kinds {
		lines = append(lines, fmt.Sprintf("%-16s %6d clients, %6d exchanges recorded %v", name, k.clients, k.exchanges, k.outcomes))
	}
	slices.Sort(lines)
	l.t.Log("\n" + strings.Join(lines, "\n"))
}
