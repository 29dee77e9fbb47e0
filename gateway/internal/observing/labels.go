package observing

import "sync"

// Labels bound the values of a label, which clients choose: those that come after the first
// max are otherLabel.
type Labels struct {
	max  int
	mu   sync.Mutex
	seen map[string]bool
}

const otherLabel = "other"

// NewLabels returns labels of which there are as many at most, and otherLabel.
func NewLabels(max int) *Labels { return &Labels{max: max, seen: map[string]bool{}} }

// Of returns the label for a value.
func (l *Labels) Of(value string) string {
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
