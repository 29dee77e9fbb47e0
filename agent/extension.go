package agent

import "time"

// An Extension is by how much the limits of an answer are raised while it is under way. What
// is zero stays as it is. It raises the limits of the agents below too.
type Extension struct {
	Invocations int           `json:"invocations,omitempty"`
	Calls       int           `json:"calls,omitempty"`
	Tokens      int64         `json:"tokens,omitempty"`
	Time        time.Duration `json:"time,omitempty"`
	Cost        float64       `json:"cost,omitempty"`
}

// Plus returns the sum of two extensions.
func (e Extension) Plus(f Extension) Extension {
	return Extension{
		int(sum(int64(e.Invocations), int64(f.Invocations))), int(sum(int64(e.Calls), int64(f.Calls))), sum(e.Tokens, f.Tokens),
		time.Duration(sum(int64(e.Time), int64(f.Time))), e.Cost + f.Cost,
	}
}

// Limits returns the limits that the extension makes of others, with their defaults filled in.
// What is not limited stays so.
func (e Extension) Limits(l Limits) Limits {
	l = l.filled()
	l.Invocations, l.Calls = int(sum(int64(l.Invocations), int64(e.Invocations))), int(sum(int64(l.Calls), int64(e.Calls)))
	if l.Tokens > 0 {
		l.Tokens = sum(l.Tokens, e.Tokens)
	}
	if l.Time > 0 {
		l.Time = time.Duration(sum(int64(l.Time), int64(e.Time)))
	}
	if l.Cost > 0 {
		l.Cost += e.Cost
	}
	return l
}

// extending asks for the extension of an answer when a limit is reached, and not before. A nil
// one has none. The agents below share it.
type extending struct {
	ask func() Extension
	has Extension
}

func (x *extending) now() Extension {
	if x == nil {
		return Extension{}
	}
	return x.has
}

// reached reports whether a limit is reached, also by the extension as it is now.
func (x *extending) reached(is func() bool) bool {
	if !is() {
		return false
	}
	if x == nil || x.ask == nil {
		return true
	}
	x.has = x.ask()
	return is()
}
