package chatjson_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/chatjson"
)

// TestThoughtTextGrows holds that joining the texts of a thought allocates in the
// order of its size, not for each text.
func TestThoughtTextGrows(t *testing.T) {
	part := gjson.Parse(`{"type":"thinking","thinking":[` + strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"thought"},`, 4000), ",") + `]}`)
	if n := testing.AllocsPerRun(1, func() { chatjson.ThoughtText(part) }); n > 100 {
		t.Errorf("%v allocations for 4000 texts", n)
	}
}
