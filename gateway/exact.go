package gateway

import "github.com/sotto-llm/sotto/wire"

// An Exactness says which replies keep the frames of the upstream. An exact reply is one whose
// frames are edited: all bytes stay that need not change. A written reply is one of which
// nothing passes as it came, so that what nobody read or judged cannot reach a client.
type Exactness string

const (
	// ExactAuto writes a reply that hides reasoning, that a guard judges or that a limit may
	// cut, and edits all others.
	ExactAuto Exactness = "auto"
	// ExactAlways writes only a reply that hides reasoning. What a guard did not see may then
	// reach a client, and a guard cannot cut a part of a reply: it ends it.
	ExactAlways Exactness = "always"
)

// Exactnesses lists the values of [Config.Exact].
func Exactnesses() []Exactness { return []Exactness{ExactAuto, ExactAlways} }

// writes reports whether the reply is written.
func (x *exchange) writes() bool { return x.settings().Written }

// writes reports whether a reply with these settings is written.
func (e Exactness) writes(s wire.Settings) bool { return s.Hide || s.Cuts && e != ExactAlways }
