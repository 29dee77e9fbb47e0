package gateway

import "github.com/sotto-llm/sotto/internal/base/faultname"

// A guardError ends a reply that a guard ended, or did not judge.
type guardError struct {
	status int
	text   string
	reason string // for the client only: it may quote what was judged
	ended  bool   // by the guard
}

func (e *guardError) Error() string { return e.text }

func (e *guardError) name() faultname.Name {
	if e.ended {
		return faultname.GuardEnded
	}
	return faultname.GuardFailed
}

// said is what the client gets.
func (e *guardError) said() string {
	if e.reason == "" {
		return e.text
	}
	return e.text + ": " + e.reason
}
