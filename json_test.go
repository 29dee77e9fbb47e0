package sotto_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sotto-llm/sotto"
)

// TestMarshalReply: a reply is marshaled as the object that sotto split prints, which the
// conformance kit has for each case.
func TestMarshalReply(t *testing.T) {
	data, err := os.ReadFile(kitWant)
	if err != nil {
		t.Fatal(err)
	}
	wants := slices.Collect(bytes.Lines(data))
	cases := kitCases(t)
	if len(wants) != len(cases) {
		t.Fatalf("%d lines for %d cases", len(wants), len(cases))
	}
	for i, c := range cases {
		r, err := c.grammar.Parse(c.raw, c.start, c.end)
		if err != nil {
			t.Fatal(err)
		}
		var got, value, want map[string]any
		for _, from := range []struct {
			reply any
			to    *map[string]any
		}{{r, &got}, {*r, &value}} {
			data, err := json.Marshal(from.reply)
			if err == nil {
				err = json.Unmarshal(data, from.to)
			}
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
		}
		if err := json.Unmarshal(wants[i], &want); err != nil {
			t.Fatal(err)
		}
		delete(want, "id")
		if diff := cmp.Diff(want, got); diff != "" || !cmp.Equal(got, value) {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// TestMarshalMany: what is beyond the first diagnostics is counted.
func TestMarshalMany(t *testing.T) {
	r := sotto.Reply{Diagnostics: []sotto.Diagnostic{{Code: sotto.CodeOrphanClose, Offset: 2, Reason: sotto.ReasonQuoted}}, Counts: sotto.Counts{sotto.CodeOrphanClose: 7}}
	data, err := json.Marshal(r)
	const want = `{"v":1,"visible":"","reasoning":[],"narration":[],"segments":[],"diagnostics":[{"code":"orphan_close","offset":2,"reason":"quoted"}],"more_diagnostics":6,"dialect":"","start":""}`
	if err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
}
