package probe

import (
	"strings"
	"testing"
)

// A text may have more remarks than a reading keeps: the one that reports a
// leak counts also after a thousand that do not.
func TestLeakAfterManyRemarks(t *testing.T) {
	quoted := strings.Repeat("`<seed:think>` ", 1100)
	if found := leakInText(quoted); found != "" {
		t.Errorf("quoted tags are a leak: %.80s", found)
	}
	if found := leakInText(quoted + "so </seed:think> done"); !strings.Contains(found, "end of a reasoning block") {
		t.Errorf("found %.80q", found)
	}
}
