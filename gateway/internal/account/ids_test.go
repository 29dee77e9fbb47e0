package account

import (
	"maps"
	"testing"

	"github.com/sotto-llm/sotto/record"
)

// A traceparent that is not valid by W3C Trace Context joins no trace.
func TestTrace(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for header, valid := range map[string]bool{
		"00-" + trace + "-" + span + "-01":                    true,
		"cc-" + trace + "-" + span + "-01-what-is-later":      true,
		"00-" + trace + "-" + span + "-01-x":                  false,
		"ff-" + trace + "-" + span + "-01":                    false,
		"00-" + trace + "-" + span:                            false,
		"00-" + trace[1:] + "-" + span + "-01":                false,
		"00-" + trace + "-" + span + "0-01":                   false,
		"00-0AF7651916CD43DD8448EB211C80319C-" + span + "-01": false,
		"00-00000000000000000000000000000000-" + span + "-01": false,
		"00-" + trace + "-0000000000000000-01":                false,
		"":                                                    false,
		"----":                                                false,
	} {
		want := map[string]string{"a": "b"}
		if valid {
			want[record.IDTrace], want[record.IDParentSpan] = trace, span
		}
		if got := Trace(map[string]string{"a": "b"}, header); !maps.Equal(got, want) {
			t.Errorf("%q: %v", header, got)
		}
	}
}
