// Package latergc lets the garbage collector begin later in the programs that import it. Their packages take 4 MB before
// the first line of main runs, nearly all of it for good, and the collector would begin just then, for a fifth of the time
// of a start. The first collection comes at 16 MB instead; after it, everything is as usual. If the environment says how
// the collector runs (GOGC, GOMEMLIMIT), nothing is changed.
package latergc

import (
	"os"
	"runtime"
	"runtime/debug"
)

// percent makes the first collection come at 16 MB: four times the runtime's own least heap.
const percent = 400

func init() {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	was := debug.SetGCPercent(percent)
	runtime.AddCleanup(&sentinel{new(int)}, func(was int) { debug.SetGCPercent(was) }, was)
}

// A sentinel is nothing but garbage, for the first collection to find. It has a pointer, because the runtime
// allocates values without one together with others.
type sentinel struct{ _ *int }
