package servecmd

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/serve/handover"
	"github.com/sotto-llm/sotto/internal/serve/systemd"
)

// The names of the listeners of a gateway, as they are in FileDescriptorName= of a
// unit of systemd.
const (
	gatewaySocket = "gateway" // with the A2A servers
	consoleSocket = "console"
	acmeSocket    = "acme"     // of answers to an authority
	debugSocket   = "debug"    // passed by another gateway only
	scriptSocket  = "scripted" // passed by another gateway only
)

// sockets are the listeners that were passed to this process, by the names above.
type sockets struct {
	log    *slog.Logger
	passed map[string]handover.Socket
	used   []handover.Socket // these, and those that were opened
}

// passedSockets takes the sockets that systemd passed. A socket without a name of its
// own, which has that of its unit, is the gateway's.
func passedSockets(getenv func(string) string, console, answers bool, log *slog.Logger) (*sockets, error) {
	list, err := systemd.Sockets(getenv)
	if err != nil {
		return nil, err
	}
	k := &sockets{log: log, passed: map[string]handover.Socket{}}
	for _, s := range list {
		name := s.Name
		if strings.HasSuffix(name, ".socket") || name == "unknown" {
			name = gatewaySocket
		}
		switch {
		case !slices.Contains([]string{gatewaySocket, consoleSocket, acmeSocket}, name):
			err = errorhint.Add(fmt.Errorf("a socket that was passed is called %q", s.Name), "set FileDescriptorName= in its unit to gateway, console or acme")
		case k.passed[name].Listener != nil:
			err = errorhint.Add(fmt.Errorf("two sockets that were passed are those of the %s: %s and %s", name, k.passed[name].Addr(), s.Addr()),
				"leave one ListenStream= in the unit; one for a port alone, such as ListenStream=8383, is for IPv4 and IPv6")
		case name == consoleSocket && !console:
			err = errorhint.Add(fmt.Errorf("a socket for the console was passed, which is off"), "turn it on with console: true, or stop the unit of that socket")
		case name == acmeSocket && !answers:
			err = errorhint.Add(errors.New("a socket for the answers to an authority was passed, and acme-listen is not set"), "set acme-listen, or stop the unit of that socket")
		default:
			k.passed[name] = handover.Socket{Name: name, Listener: s.Listener}
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
// the flag that sets another. A socket of systemd takes precedence over the address, one
// of an earlier gateway must be of the same address.
func (k *sockets) listen(name, flag, address string) (net.Listener, error) {
	s := k.passed[name]
	delete(k.passed, name)
	switch {
	case s.Listener != nil && s.Address == "":
		k.log.Info("a socket was passed to this process: it is used instead of "+flag, "at", s.Addr().String(), "name", name)
		return s.Listener, nil
	case s.Listener != nil && s.Address == address:
		k.used = append(k.used, s)
		return s.Listener, nil
	case s.Listener != nil:
		s.Close()
	}
	l, err := serving.Listen(flag, address)
	if err == nil {
		k.used = append(k.used, handover.Socket{Name: name, Address: address, Listener: l})
	}
	return l, err
}

// close closes the listeners that nothing has taken.
func (k *sockets) close() error {
	for _, l := range k.passed {
		l.Close()
	}
	clear(k.passed)
	return nil
}
