package gateway

import "sync"

// labels bound the values of a label, which clients choose: those that come after the first
// max are otherLabel.
type labels struct {
	max  int
	mu   sync.Mutex
	seen map[string]bool
}

const otherLabel = "other"

func newLabels(max int) *labels { return &labels{max: max, seen: map[string]bool{}} }

// of returns the label for a value.
func (l *labels) of(value string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.seen[value] {
		if len(l.seen) >= l.max {
			return otherLabel
		}
		l.seen[value] = true
	}
	return value
}
