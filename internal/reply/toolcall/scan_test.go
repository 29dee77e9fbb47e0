package toolcall

import (
	"strings"
	"testing"
)

// A Scanner finds the same calls however the text is cut.
func TestScanner(t *testing.T) {
	for _, test := range []struct {
		text string
		want int
	}{
		{"a < b, <tool_call> is a marker", 0},
		{`I call <tool_call>{"name":"f","arguments":{}}</tool_call> now`, 1},
		{`<<tool_call>{"name":"f"}</tool_call><function=g></function>`, 2},
		{"<tool_call>{\"name\":\"f\"}\n{\"name\":\"g\"}</tool_call>", 2},
		{`<tool_call>not JSON</tool_call><tool_call>{"name":"f"}</tool_call>`, 1},
		{`<tool_call>{"name":"f"}`, 0},
	} {
		for a := 0; a <= len(test.text); a++ {
			for b := a; b <= len(test.text); b++ {
				var s Scanner
				s.Add([]byte(test.text[:a]))
				s.Add([]byte(test.text[a:b]))
				s.Add([]byte(test.text[b:]))
				if s.Calls != test.want {
					t.Fatalf("%s, cut at %d and %d: %d calls, want %d", test.text, a, b, s.Calls, test.want)
				}
			}
		}
	}
}

// A call that never ends keeps bounded memory.
func TestScannerBound(t *testing.T) {
	var s Scanner
	for range 1000 {
		s.Add([]byte("<tool_call>" + strings.Repeat("x>", 500)))
	}
	if s.Held() > 4*maxScanned {
		t.Errorf("%d bytes are held", s.Held())
	}
}
