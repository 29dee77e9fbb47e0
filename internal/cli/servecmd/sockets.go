package servecmd

import (
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/serving"
	"github.com/sotto-llm/sotto/internal/systemd"
)

// The names of the listeners of a gateway, as they are in FileDescriptorName= of a
// unit of systemd.
const (
	gatewaySocket = "gateway" // with the A2A servers
	consoleSocket = "console"
)

// sockets are the listeners that were passed to this process, by the names above.
type sockets struct {
	log    *slog.Logger
	passed map[string]net.Listener
}

// passedSockets takes the sockets that systemd passed. A socket without a name of its
// own, which has that of its unit, is the gateway's.
func passedSockets(getenv func(string) string, console bool, log *slog.Logger) (*sockets, error) {
	list, err := systemd.Sockets(getenv)
	if err != nil {
		return nil, err
	}
	k := &sockets{log: log, passed: map[string]net.Listener{}}
	for _, s := range list {
		name := s.Name
		if strings.HasSuffix(name, ".socket") || name == "unknown" {
			name = gatewaySocket
		}
		switch {
		case !slices.Contains([]string{gatewaySocket, consoleSocket}, name):
			err = hint.Add(fmt.Errorf("a socket that was passed is called %q", s.Name), "set FileDescriptorName= in its unit to gateway or console")
		case k.passed[name] != nil:
			err = hint.Add(fmt.Errorf("two sockets that were passed are those of the %s: %s and %s", name, k.passed[name].Addr(), s.Addr()),
				"leave one ListenStream= in the unit; one for a port alone, such as ListenStream=8383, is for IPv4 and IPv6")
		case name == consoleSocket && !console:
			err = hint.Add(fmt.Errorf("a socket for the console was passed, which is off"), "turn it on with console: true, or stop the unit of that socket")
		default:
			k.passed[name] = s.Listener
			continue
		}
		s.Close()
	}
	if err != nil {
		_ = k.close()
		return nil, err
	}
	return k, nil
}

// listen returns the listener with a name that was passed, or opens an address. flag is
// the flag that sets another.
func (k *sockets) listen(name, flag, address string) (net.Listener, error) {
	if l := k.passed[name]; l != nil {
		delete(k.passed, name)
		k.log.Info("a socket was passed to this process: it is used instead of "+flag, "at", l.Addr().String(), "name", name)
		return l, nil
	}
	return serving.Listen(flag, address)
}

// close closes the listeners that nothing has taken.
func (k *sockets) close() error {
	for _, l := range k.passed {
		l.Close()
	}
	return nil
}
