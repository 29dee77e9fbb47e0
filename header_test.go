package sotto

import (
	"testing"

	"github.com/sotto-llm/sotto/dialect"
)

// What a header says: its name, its recipient, and whether it only ends a body.
func TestHeaderParse(t *testing.T) {
	h := &header{
		Begin: []string{"<|s|>", "<|/s|>"}, Body: []string{"<|m|>"}, End: []string{"<|e|>"}, Close: []string{"<|/s|>"},
		Name: []string{"<|n|>", "|n|>"}, Tokens: []string{"<|t|>"},
	}
	for _, c := range []struct {
		raw, name, recipient string
		closing              bool
	}{
		{"<|s|>a<|n|>b<|m|>", "b", "", false},
		{"<|n|>b<|m|>", "b", "", false},
		{"<|n|>a<|n|>b c<|m|>", "b", "", false}, // the last name
		{"<|s|>a<|m|>", "", "", false},
		{"<|s|><|n|><|m|>", "", "", false},
		{"<|s|><|n|> b<|m|>", "", "", false},
		{"<|s|><|n|>\u0080b\tc<|m|>", "\u0080b", "", false},
		{"<|s|><|n|>b<|t|>c<|m|>", "b", "", false},
		{"<|s|>a to=f<|n|>b<|m|>", "b", "f", false},
		{"<|s|>a<|n|>b to=f.g <|t|>json<|m|>", "b", "f.g", false},
		{"<|s|>to=f to=g<|m|>", "", "g", false},
		{"<|s|>to=f<|m|>", "", "", false}, // not a word of its own
		{"to=f<|m|>", "", "", false},
		{" to=f<|m|>", "", "f", false},
		{"<|/s|>a<|n|>b<|m|>", "", "", true},
		{"<|s|>a<|/s|><|m|>", "", "", false},
	} {
		if name, recipient, closing := h.parse(c.raw); name != c.name || recipient != c.recipient || closing != c.closing {
			t.Errorf("%q: name %q, recipient %q, closing %v", c.raw, name, recipient, closing)
		}
	}
}

// A recipient decides before the name. Where no recipients are listed, each is a tool; where
// some are, another one says nothing.
func TestHeaderChannel(t *testing.T) {
	channels := map[string]dialect.Role{"": dialect.RoleText, "n": dialect.RoleNarration}
	for _, c := range []struct {
		recipients      map[string]dialect.Role
		name, recipient string
		channel         Channel
		known           bool
	}{
		{nil, "", "", ChannelText, true},
		{nil, "n", "", ChannelNarration, true},
		{nil, "x", "", ChannelReasoning, false},
		{nil, "n", "f", ChannelTool, true},
		{map[string]dialect.Role{"u": dialect.RoleText}, "n", "u", ChannelText, true},
		{map[string]dialect.Role{"u": dialect.RoleText}, "n", "f", ChannelNarration, true},
		{map[string]dialect.Role{"u": dialect.RoleText}, "x", "f", ChannelReasoning, false},
		{map[string]dialect.Role{"u": dialect.RoleText, "*": dialect.RoleAside}, "n", "f", ChannelAside, true},
		{map[string]dialect.Role{"u": dialect.RoleText, "*": dialect.RoleAside}, "n", "u", ChannelText, true},
	} {
		h := &header{Channels: channels, Recipients: c.recipients}
		if channel, known := h.channel(c.name, c.recipient); channel != c.channel || known != c.known {
			t.Errorf("%v, name %q, recipient %q: %s, %v", c.recipients, c.name, c.recipient, channel, known)
		}
	}
}
