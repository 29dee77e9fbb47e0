package settings

import (
	"slices"
	"testing"
)

// TestFlagHelp: the help of a flag has the sentence of the guide without its Markdown or one
// of its own, the default, and how a list and a secret are given in the environment.
func TestFlagHelp(t *testing.T) {
	want := map[string]string{
		"listen":               "The address that clients connect to; default 127.0.0.1:8383.",
		"narration":            "Where narration goes: text, field, drop; default text.",
		"on-no-answer":         "What a client gets if a reply was all reasoning, without a tool call: empty (no text), error, promote (the reasoning as the text); default empty.",
		"log-level":            "debug, info, warn or error; default info. SIGUSR1 switches debug on and off while the gateway runs.",
		"pass-all":             "Forward every route, also for other machines.",
		"allow-host":           "Allow this host name in requests, such as chat.example; * allows all; repeatable. In $SOTTO_ALLOW_HOST, separate several with commas.",
		"record-recipient":     "Encrypt the record for an age recipient, or for those in FILE; repeatable.",
		"guard-token-file":     "The file with the bearer token for that server. $SOTTO_GUARD_TOKEN holds the token itself.",
		"shared-password-file": "The file with the password of that server. $SOTTO_SHARED_PASSWORD holds the password itself.",
	}
	for _, f := range Flags() {
		if text, ok := want[f.Name]; ok && f.Help != text {
			t.Errorf("--%s: %q, want %q", f.Name, f.Help, text)
		}
		delete(want, f.Name)
	}
	if len(want) > 0 {
		t.Errorf("no flags for %q", want)
	}
}

// TestVariables: the variables that are read are those of flags and of secrets, each once.
func TestVariables(t *testing.T) {
	list := Variables()
	for _, name := range []string{"SOTTO_LISTEN", "SOTTO_DATA_DIR", "SOTTO_ALLOW_HOST", "SOTTO_VERBOSE", "SOTTO_TOKEN", "SOTTO_TOKEN_FILE", "SOTTO_UPSTREAM_KEY", "SOTTO_SHARED_PASSWORD"} {
		if !slices.Contains(list, name) {
			t.Errorf("no %s in %q", name, list)
		}
	}
	slices.Sort(list)
	if n := len(slices.Compact(slices.Clone(list))); n != len(list) {
		t.Errorf("%d of %d variables appear twice", len(list)-n, len(list))
	}
}
