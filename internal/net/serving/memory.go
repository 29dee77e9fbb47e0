package serving

import "sync"

// DefaultMemory is how much servers may hold for their clients by default: a
// quarter of the memory that the process may use, in whole MiB. The rest is for
// memory that is not counted, and for garbage that is not yet collected. It is read once:
// reading control groups takes longer than making everything else of a gateway.
func DefaultMemory() int64 { return defaultMemory() }

var defaultMemory = sync.OnceValue(func() int64 { return quarter(memory()) })

// unknownMemory is the assumed memory of the machine if the system does not report
// it.
const unknownMemory = 4 << 30

func quarter(all int64) int64 {
	const step, least = 1 << 20, 16 << 20
	return max(all/4/step*step, least)
}
