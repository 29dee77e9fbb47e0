package scheduler

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childProcess is what the test binary does where it is a process to be killed.
var childProcess func(dir string)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SCHEDULER_CHILD"); dir != "" {
		childProcess(dir)
	}
	goleak.VerifyTestMain(m)
}
