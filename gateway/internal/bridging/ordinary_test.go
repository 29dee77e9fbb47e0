package bridging

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/providers"
)

// TestOrdinary: of a reply as servers send them every day, with a text and a call, and a thought if the server
// shows it, nothing is named as left out, for a client of any other API. The call and the words reach it.
func TestOrdinary(t *testing.T) {
	for _, from := range providers.APIs() {
		text, err := os.ReadFile(filepath.Join("testdata/ordinary", from.Name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var servers map[string]struct {
			Whole  json.RawMessage
			Stream []json.RawMessage
		}
		if err := json.Unmarshal(text, &servers); err != nil {
			t.Fatal(from.Name, err)
		}
		for _, server := range slices.Sorted(maps.Keys(servers)) {
			s := servers[server]
			for _, to := range others(from) {
				replies := []crossed{crossing(from, to, false, s.Whole)}
				if s.Stream != nil {
					replies = append(replies, crossing(from, to, true, s.Stream...))
				}
				for i, c := range replies {
					if c.err != nil || len(c.left) > 0 {
						t.Errorf("%s of %s to %s, form %d: %v, left out %q", from.Name, server, to.Name, i, c.err, c.left)
					}
					for _, want := range []string{"Let me look.", "weather", "Oslo", "A thought."} {
						if !strings.Contains(c.out, want) && (want != "A thought." || strings.Contains(string(s.Whole), want)) {
							t.Errorf("%s of %s to %s, form %d: no %q in %s", from.Name, server, to.Name, i, want, c.out)
						}
					}
				}
			}
		}
	}
}
