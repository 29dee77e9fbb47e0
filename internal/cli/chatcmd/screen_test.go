package chatcmd

import "testing"

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{
		"": "", " \n": "", "I look.": "I look.", "fetch: 1 of 3\nfetch: 2 of 3\n": "fetch: 2 of 3", "a\n\n b \n\n": " b",
	} {
		if got := lastLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
