package mcptools

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/agent"
)

// TestResources: an agent lists and reads the resources and prompts of a server, over both
// transports, and gets the texts of resources in results.
func TestResources(t *testing.T) {
	for name, c := range map[string]agent.MCPServer{"stdio": stdio(t, "official"), "http": overHTTP(t)} {
		t.Run(name, func(t *testing.T) {
			c.Resources, c.Prompts, c.Allow = true, true, []string{"look"}
			tools := map[string]*agent.Func{}
			for i, f := range open(t, c) {
				tools[c.Names()[i]] = f
			}
			for _, tt := range []struct{ tool, arguments, want string }{
				{agent.ListResources, `{}`, `{"uri":"note:///a","name":"a","description":"A note.","type":"text/plain"}` + "\n" + `{"template":"note:///day/{day}","name":"day"}`},
				{agent.ReadResource, `{"uri":"note:///day/3"}`, "text of note:///day/3\n[a resource (image/png) of 3 bytes is left out]"},
				{agent.ReadResource, `{"uri":"other:///a"}`, "error: the server " + c.Name + " refused the call: "},
				{agent.ReadResource, `{"uri":""}`, "error: uri: want 1 to 2048 bytes"},
				{agent.ListPrompts, `{}`, `{"name":"greet","arguments":["who (required)"]}`},
				{agent.GetPrompt, `{"name":"greet","arguments":{"who":"Ada"}}`, "user: Greet Ada."},
				{agent.GetPrompt, `{"name":"none"}`, "error: the server " + c.Name + " refused the call: "},
				{"look", `{}`, "Here:\n[an image (image/png) of 5 bytes is left out]\nRESOURCE"},
			} {
				got, err := call(t, tools[tt.tool], tt.arguments)
				if err != nil {
					got = "error: " + err.Error()
				}
				if got != tt.want && !(strings.HasSuffix(tt.want, ": ") && strings.HasPrefix(got, tt.want)) {
					t.Errorf("%s %s: %q, want %q", tt.tool, tt.arguments, got, tt.want)
				}
			}
		})
	}
}

// TestNoResources: a file that asks for what the server does not have is refused.
func TestNoResources(t *testing.T) {
	for want, change := range map[string]func(*agent.MCPServer){
		"has no resources": func(c *agent.MCPServer) { c.Resources = true },
		"has no prompts":   func(c *agent.MCPServer) { c.Prompts = true },
	} {
		c := stdio(t, "noise", "work")
		change(&c)
		if _, _, err := Open(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestListsAreBounded: a list has a bounded number of lines and bytes, and says so.
func TestListsAreBounded(t *testing.T) {
	for name, e := range map[string]entry{"short": {Name: "a"}, "long": {Name: strings.Repeat("a", maxEntry), Description: strings.Repeat("b", 2*maxEntry)}} {
		var list entries
		for range 1000 {
			if err := list.add(e); err != nil {
				t.Fatal(err)
			}
		}
		text := list.text()
		if n := len(list.lines); n == 0 || n > maxEntries || len(text) > maxList+100 || !strings.HasSuffix(text, "are shown]") {
			t.Errorf("%s: %d lines, %d bytes, …%.40s", name, n, len(text), text[max(0, len(text)-40):])
		}
	}
}
