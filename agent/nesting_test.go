package agent

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
)

// Arguments that nest without end, or beyond the bound, are refused with a place,
// also under a schema that is recursive: there a validator keeps the whole path of
// each level that does not fit.
func TestNestedArguments(t *testing.T) {
	schema, err := compileSchema([]byte(`{"type":"object","properties":{"a":{"$ref":"#"}},"additionalProperties":{"type":"array"}}`))
	if err != nil {
		t.Fatal(err)
	}
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for text, want := range map[string]string{
		nested(1001):                                 "the arguments are refused: the JSON nests deeper than 1000 levels at byte 5000",
		nested(9000):                                 "the arguments are refused: the JSON nests deeper than 1000 levels at byte 5000",
		strings.Repeat("[", 6<<20):                   "the arguments are refused: the JSON nests deeper than 1000 levels at byte 1000",
		`{"b":` + strings.Repeat(`{"a":`, 1<<20):     "the arguments are refused: the JSON nests deeper than 1000 levels at byte 5000",
		`{"b":[` + strings.Repeat("0,", 1<<20) + `0`: "the arguments are refused: the JSON has more than 1000000 members and elements at byte",
		nested(1000):                                 "want object",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readArguments(sotto.Default(), schema, text, 8<<20)
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; !strings.Contains(fmt.Sprint(err), want) || n > 200 {
			t.Errorf("%.20s: %d MB: %.300v, want %s", text, n, err, want)
		}
	}
}
