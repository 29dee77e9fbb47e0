package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/explain"
)

// TestExplain: a name, a code and the text of an error lead to an entry; what is unknown leads
// to near names, and to no entry.
func TestExplain(t *testing.T) {
	for _, c := range []struct {
		args     []string
		out, err string // the beginnings
		status   int
	}{
		{[]string{"token-missing"}, "token-missing: Servers, status 401\n", "", 0},
		{[]string{"NO_VISIBLE_ANSWER"}, "no-visible-answer: ", "", 0},
		{[]string{"x: another writer has the record open"}, "record-locked: ", "", 0},
		{[]string{"tokn-missing"}, "", "sotto: error: no entry is called \"tokn-missing\"\nsotto: hint: did you mean \"token-missing\"?\n", 2},
		{[]string{"my store does not answer at all"}, "", "sotto: error: no entry is called \"my store does not answer at all\"\nsotto: hint: these may be about it: ", 2},
		{[]string{"zzzzzzzz"}, "", "sotto: error: no entry is called \"zzzzzzzz\"\nsotto: hint: \"sotto explain\" lists all entries\n", 2},
		{[]string{"--search", "expired token"}, "token-expired   The token was right, but its time is over\n", "", 0},
		{[]string{"--search", "zzzzzzzz"}, "", "sotto: error: no entry has the words \"zzzzzzzz\"\n", 1},
		{[]string{"--search", "token", "token-missing"}, "", "sotto: error: --search takes no name\n", 2},
	} {
		out, errs, status := runSotto(t, "", append([]string{"explain"}, c.args...)...)
		if status != c.status || !strings.HasPrefix(out, c.out) || !strings.HasPrefix(errs, c.err) || (out == "") != (c.out == "") || (errs == "") != (c.err == "") {
			t.Errorf("%q: status %d\n%.300s%s", c.args, status, out, errs)
		}
	}
}

// TestExplainAll: the list, as text and as JSON, has every entry, and so has the completion.
func TestExplainAll(t *testing.T) {
	text, _, _ := runSotto(t, "", "explain")
	data, _, _ := runSotto(t, "", "explain", "--json")
	script, _, _ := runSotto(t, "", "completion", "bash")
	var all struct {
		V       int
		Entries []struct{ Name, Meaning, Why, Do string }
	}
	if err := json.Unmarshal([]byte(data), &all); err != nil || all.V != 1 {
		t.Fatalf("%v: %.200s", err, data)
	}
	for i, e := range explain.Entries() {
		if all.Entries[i].Name != e.Name || all.Entries[i].Do != e.Do || !strings.Contains("\n"+text, "\n"+e.Name+" ") || !strings.Contains(script, e.Name) {
			t.Errorf("%s is not listed", e.Name)
		}
	}
}
