// Package systemd speaks with systemd, or with a service manager that follows its
// protocols: it takes the sockets that the manager opened for this process, and tells
// the manager when this process is ready and when it stops.
//
// The protocols are those of sd_listen_fds(3) and sd_notify(3). Without a manager,
// there are no sockets, and nothing is told.
package systemd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Socket is a listener that the manager opened.
type Socket struct {
	// Name is the one of FileDescriptorName= in the socket's unit. Without it, it is
	// the name of that unit, such as sotto.socket.
	Name string
	net.Listener
}

// maxSockets bounds how many sockets a process is given. A larger number is a fault
// of whoever set the variable.
const maxSockets = 64

// firstSocket is the number of the first descriptor that a manager passes.
const firstSocket = 3

// Sockets takes the sockets that were passed to this process. Call it once: the
// descriptors are closed for programs that this process starts, and the variables are
// removed from their environment.
func Sockets(getenv func(string) string) (list []Socket, err error) {
	if getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) || getenv("LISTEN_FDS") == "" {
		return nil, nil // they are for another process, or there are none
	}
	n, err := strconv.Atoi(getenv("LISTEN_FDS"))
	if err != nil || n < 0 || n > maxSockets {
		return nil, fmt.Errorf("LISTEN_FDS: %q: want a number from 0 to %d", getenv("LISTEN_FDS"), maxSockets)
	}
	names := strings.Split(getenv("LISTEN_FDNAMES"), ":")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		_ = os.Unsetenv(name)
	}
	var faults []error
	for i := range n {
		name := ""
		if i < len(names) {
			name = names[i]
		}
		name = cmp.Or(name, "unknown")
		l, err := listener(firstSocket+i, name)
		if err != nil {
			faults = append(faults, fmt.Errorf("the socket %q that was passed as descriptor %d: %w", name, firstSocket+i, err))
			continue
		}
		list = append(list, Socket{name, l})
	}
	if len(faults) > 0 {
		for _, s := range list {
			s.Close()
		}
		return nil, errors.Join(faults...)
	}
	return list, nil
}

// notifyWait bounds how long this process waits until the manager is told.
const notifyWait = time.Second

// Notify tells the manager something of this process. A state is an assignment such as
// READY=1. An error is worth a line of the log and no more: the manager decides.
func Notify(getenv func(string) string, states ...string) error {
	name := getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", name) // a name that begins with @ is abstract
	if err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	defer conn.Close()
	_ = conn.SetWriteDeadline(time.Now().Add(notifyWait)) // the manager may not read
	if _, err := conn.Write([]byte(strings.Join(states, "\n"))); err != nil {
		return fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	return nil
}

// Stopping are the states of a process that begins to stop and may need that long.
func Stopping(within time.Duration) []string {
	return []string{"STOPPING=1", fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", within.Microseconds())}
}

// Watchdog returns how often this process must send WATCHDOG=1, or 0 if the manager
// does not watch it.
func Watchdog(getenv func(string) string) time.Duration {
	if pid := getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	n, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || n <= 0 || n > int64(24*time.Hour/time.Microsecond) {
		return 0
	}
	return time.Duration(n) * time.Microsecond
}
