package files

import (
	"strings"
	"testing"
)

// TestOneReplyIsBounded: a reply that is read whole also has a bound.
func TestOneReplyIsBounded(t *testing.T) {
	if _, err := ReadAll(strings.NewReader("12345"), 4); err == nil || !strings.Contains(err.Error(), "it is larger than") {
		t.Errorf("5 bytes of 4: %v", err)
	}
	if data, err := ReadAll(strings.NewReader("1234"), 4); err != nil || string(data) != "1234" {
		t.Errorf("4 bytes of 4: %q, %v", data, err)
	}
}

func TestStateFolder(t *testing.T) {
	for _, tt := range []struct{ state, home, want string }{
		{"/state", "/home/me", "/state/sotto"},
		{"", "/home/me", "/home/me/.local/state/sotto"},
		{"relative", "/home/me", "/home/me/.local/state/sotto"},
	} {
		env := map[string]string{"XDG_STATE_HOME": tt.state, "HOME": tt.home}
		if got := StateFolder(func(name string) string { return env[name] }); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
}
