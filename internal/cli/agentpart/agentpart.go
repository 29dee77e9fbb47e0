// Package agentpart says what lets a gateway answer as agents. The command that runs the
// gateway knows only this, so that a program without agents has none of what they need.
package agentpart

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/agents/schedule"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/data/transact"
	"github.com/sotto-llm/sotto/internal/serve/settings"
	"github.com/sotto-llm/sotto/record"
)

// A Part lets a gateway answer as agents.
type Part interface {
	// Check adds the faults in the settings and the files of agents, as far as they can be
	// found before anything is opened. Faults in other settings take precedence.
	Check(sh *shell.Shell, s *settings.Setup)
	// Read reads the files of all agents.
	Read(sh *shell.Shell, s *settings.Setup) (Agents, error)
	// Schedules returns what is known of the schedules of the agents, which a gateway that
	// runs may work on. shared is where replicas share it; nil if they do not.
	Schedules(s *settings.Setup, shared transact.Level) ([]schedule.Status, error)
}

// Agents are those that a gateway serves.
type Agents interface {
	// Secrets are the values that no record may hold.
	Secrets() []string
	// Models puts the agents before the upstream of a gateway. Their conversations are kept
	// in a store, which may be nil. stop ends their answers.
	Models(s *settings.Settings, kept *record.Writer, talks *conversation.Store, log *slog.Logger) (stop func())
	// Answer lets agents answer A2A on the address of a gateway. leave ends that.
	Answer(at *Front) (leave func() error, err error)
	// Schedule gives agents their tasks when they are due.
	Schedule(at *Front) (Schedules, error)
	// Close ends what the agents started.
	Close() error
}

// Schedules are those of the agents of a gateway.
type Schedules interface {
	// Files are the files that have them.
	Files() []string
	// Reread reads the files again. use uses what they have.
	Reread() (use func(), err error)
	// Drain begins no run any more, and waits until those that are going have ended.
	Drain(ctx context.Context) error
	// Close interrupts the runs that are going, with which the next process goes on.
	Close()
	// Status returns what is known of them.
	Status() ([]schedule.Status, error)
}

// A Front is where a gateway answers.
type Front struct {
	Settings *settings.Setup
	Server   *http.Server // its handler can be wrapped
	URL      *url.URL     // of the gateway
	Upstream *url.URL
	Scripted bool           // the upstream is
	Record   *record.Writer // nil if nothing is recorded
	Shared   transact.Level // where replicas share tasks; nil if they do not
	Log      *slog.Logger
	// Tasks are set by Answer: those of the agents; nil if there are none.
	Tasks console.Tasks
	// Follow gives further servers the tokens of the gateway, whenever they change. check
	// says why a server cannot have those of settings.
	Follow func(check func(*settings.Setup) error, set func([]gateway.Token))
}

// None is a gateway without agents.
type None struct{}

// Secrets returns nil.
func (None) Secrets() []string { return nil }

// Models changes nothing.
func (None) Models(*settings.Settings, *record.Writer, *conversation.Store, *slog.Logger) (stop func()) {
	return func() {}
}

// Answer changes nothing.
func (None) Answer(*Front) (leave func() error, err error) {
	return func() error { return nil }, nil
}

// Schedule returns none.
func (None) Schedule(*Front) (Schedules, error) { return nothing{}, nil }

// nothing are no schedules.
type nothing struct{}

func (nothing) Files() []string                    { return nil }
func (nothing) Reread() (use func(), err error)    { return func() {}, nil }
func (nothing) Drain(context.Context) error        { return nil }
func (nothing) Close()                             {}
func (nothing) Status() ([]schedule.Status, error) { return nil, nil }

// Close returns nil.
func (None) Close() error { return nil }
