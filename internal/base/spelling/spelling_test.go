package spelling

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"max_hold", "max_marker", "token-file", "token", "start", "a", "a2a-reasoning", "reasoning-field"}
	for got, want := range map[string]string{
		"maxhold": "max_hold", "max-hold": "max_hold", "MAX_HOLD": "max_hold", "max_hodl": "max_hold", "max_hol": "max_hold",
		"tokens": "token", "token_file": "token-file", "tokenf": "token", "satrt": "start", "sta": "start", "max_mar": "max_marker",
		"reasoning": "reasoning-field", "a2a-reasonin": "a2a-reasoning",
		"b": "", "": "", "zzzzzz": "", strings.Repeat("token", 20): "",
	} {
		if near := Nearest(got, names); near != want {
			t.Errorf("Nearest(%q) = %q, want %q", got, near, want)
		}
	}
	for got, want := range map[string]string{"tokne": "token", "token_fiel": "token-file", "reason": "reasoning-field", "token-alice": "", "strt": "start", "abc": "", "": ""} {
		if near := Slip(got, names); near != want {
			t.Errorf("Slip(%q) = %q, want %q", got, near, want)
		}
	}
	if got := DidYouMean("tokn", names, "there are"); got != `did you mean "token"?` {
		t.Error(got)
	}
	if got := DidYouMean("zzzzzz", []string{"a", "b"}, "there are"); got != "there are a, b" {
		t.Error(got)
	}
}
