//go:build !unix

package systemd

import (
	"errors"
	"net"
)

// listener refuses: other systems have no service manager that passes sockets.
func listener(int, string) (net.Listener, error) { return nil, errors.ErrUnsupported }
