// Package handover passes the listening sockets of a process to the one that replaces
// it, through a Unix socket in a folder that both know. The sockets stay open
// throughout, so that no connection is refused: what comes between the two processes
// waits in the queue of the socket.
//
// The next process asks first ([Ask]). The process that is asked sends its sockets,
// stops accepting, and ends as after a signal. Then the next one begins ([Asked.Ended]):
// the two never have the same files open.
package handover

import (
	"errors"
	"net"
)

// A Socket is a listening socket with a name and the address that the settings asked
// for, which may be less exact than its own, such as port 0.
type Socket struct {
	Name    string
	Address string
	net.Listener
}

// fileName is the name of the Unix socket in the folder.
const fileName = "takeover.sock"

// maxSockets bounds how many sockets are passed.
const maxSockets = 16

// maxMessage bounds a message, which is one line of JSON.
const maxMessage = 16 << 10

// A message is what the two processes say: which sockets come with it.
type message struct {
	V       int      `json:"v"`
	PID     int      `json:"pid"`
	Sockets []listed `json:"sockets"`
}

type listed struct {
	Name    string `json:"name"`
	Address string `json:"address"`
}

// version is that of the messages.
const version = 1

// ErrPath is the error of a folder whose name is too long for a Unix socket in it.
var ErrPath = errors.New("the name of the folder is too long for a Unix socket: 90 bytes at most")
