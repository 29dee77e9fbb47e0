//go:build unix

package servecmd

import (
	"os"
	"syscall"
)

// levelSignals switch the level of the log. Other daemons use SIGUSR1 so too (rsyslogd,
// named), and SIGHUP and SIGUSR2 to reload and to upgrade.
var levelSignals = []os.Signal{syscall.SIGUSR1}
