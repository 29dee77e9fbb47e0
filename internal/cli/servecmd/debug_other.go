//go:build !unix

package servecmd

import "os"

// levelSignals are none: the system has no such signals.
var levelSignals []os.Signal
