package answer

import (
	"fmt"
	"math"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// jsonLimits bound JSON values.
var jsonLimits = jsontext.Limits{
	Depth:   1000,
	Members: math.MaxInt, // the length of a candidate is bounded
	Number:  1000,
}

// A jsonFault says what is wrong with a JSON text, and at which byte.
type jsonFault struct {
	at   int
	what jsontext.Fault
}

// large reports whether the text may be valid JSON, but is beyond the limits.
func (f *jsonFault) large() bool {
	return f.what == jsontext.TooDeep || f.what == jsontext.LongNumber
}

func (f *jsonFault) verdict() Verdict {
	v := Verdict{Reason: NotJSON, Detail: fmt.Sprintf("at byte %d: %s", f.at, f.what)}
	if f.large() {
		v.Reason = TooLarge
	}
	return v
}

// checkJSON reports why s is not a single JSON value, or nil if it is.
func checkJSON(s string) *jsonFault {
	if at, fault := jsonLimits.Whole([]byte(s)); fault != "" {
		return &jsonFault{at, fault}
	}
	return nil
}
