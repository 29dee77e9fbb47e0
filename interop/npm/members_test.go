package npm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/interop/internal/displays"
	"github.com/sotto-llm/sotto/interop/internal/wiretap"
)

// A way is one of the forms in which the gateway can write a thought.
type way struct {
	name  string
	route routing.Route
}

// waysOf are the forms that an API has, by settings of the gateway.
var waysOf = map[string][]way{
	"openai.chat": {
		{"reasoning_content", routing.Route{ReasoningFields: []string{"reasoning_content"}}},
		{"reasoning", routing.Route{ReasoningFields: []string{"reasoning"}}},
		{"reasoning_content,reasoning", routing.Route{ReasoningFields: []string{"reasoning_content", "reasoning"}}},
	},
	"anthropic.messages": {
		{"empty", routing.Route{ThinkingSignature: routing.SignatureEmpty}},
		{"sotto", routing.Route{ThinkingSignature: routing.SignatureSotto}},
	},
}

// A tally is what a client did with one way.
type tally struct{ read, twice, failed, returned, all int }

func (t tally) String() string {
	switch {
	case t.failed > 0:
		return fmt.Sprintf("**fails** in %d of %d", t.failed, t.all)
	case t.twice > 0:
		return fmt.Sprintf("**twice** in %d of %d", t.twice, t.all)
	case t.read == 0:
		return "–"
	case t.read < t.all:
		return fmt.Sprintf("reads it in %d of %d", t.read, t.all)
	case t.returned == t.all:
		return "reads, returns"
	}
	return "reads"
}

// TestMembers writes what each client does with each way to write a thought that stood in the text of
// a reply: whether it reads it, once, and sends it back. It is the reason for the defaults.
func TestMembers(t *testing.T) {
	for api, ways := range waysOf {
		stages := map[string]*displays.Stage{}
		var plans []plan
		for _, w := range ways {
			s := displays.New(t, routing.DisplayField, w.route)
			stages[w.name] = s
			for _, stream := range []bool{false, true} {
				plans = append(plans, plan{
					Check: w.name, Model: "qwen3:8b", Stream: stream, Tools: true, Prompts: displays.Prompts, APIs: []string{api},
					Bases: map[string]string{"": s.URL, "reasoning": s.URL, summary: s.URL},
				})
			}
		}
		found, sizes := map[string]map[string]tally{}, map[string]int{}
		for _, c := range converseAll(t, plans) {
			if found[c.Client] == nil {
				found[c.Client] = map[string]tally{}
			}
			before := stages[c.Check].Before.Of(c.Key)
			found[c.Client][c.Check] = found[c.Client][c.Check].with(c, before)
			if sizes[c.Check] == 0 && len(before) > 0 && !bytes.HasPrefix(before[0].Reply, []byte("{")) { // some clients never stream
				sizes[c.Check] = len(before[0].Reply)
			}
		}
		if os.Getenv("SOTTO_NPM_ONLY") == "" {
			checkGenerated(t, "../../docs/evidence/clients.md", "thoughts in "+api, membersTable(ways, found, sizes))
		}
	}
}

// with adds a conversation.
func (t tally) with(c *conversation, before []wiretap.Request) tally {
	m, _ := scripted.Find(c.Model)
	want := squeeze(strings.Repeat(strings.Join(m.Call.Reasoning, ""), displays.Calls) + strings.Join(m.Result.Reasoning, ""))
	t.all++
	if c.Error != "" || len(c.Turns) != len(displays.Prompts) {
		t.failed++
		return t
	}
	switch got := squeeze(c.Turns[0].Thought); {
	case got == want:
		t.read++
	case len(got) > len(want):
		t.twice++
	}
	quoted, _ := json.Marshal(m.Call.Reasoning[0])
	if len(before) > 1 && bytes.Contains(before[1].Body, quoted[1:len(quoted)-1]) {
		t.returned++
	}
	return t
}

// converseAll lets every client have the conversations.
func converseAll(t *testing.T, plans []plan) (done []*conversation) {
	t.Helper()
	dir := os.Getenv("SOTTO_NPM")
	if dir == "" {
		t.Skip("SOTTO_NPM is not set: run it as SOTTO_NPM=$(interop/npm/install)")
	}
	input, err := json.Marshal(map[string]any{"talks": plans, "lanes": 8, "only": os.Getenv("SOTTO_NPM_ONLY")})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node", "run"), filepath.Join(dir, "run.js"))
	cmd.Stdin = bytes.NewReader(input)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(out) {
		var l struct{ Done *conversation }
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if l.Done != nil {
			done = append(done, l.Done)
		}
	}
	return done
}

// membersTable has a row for each client, one for how many read, and one for the bytes of a stream.
func membersTable(ways []way, found map[string]map[string]tally, sizes map[string]int) string {
	var b strings.Builder
	b.WriteString("| client |")
	line := "| --- |"
	for _, w := range ways {
		fmt.Fprintf(&b, " `%s` |", w.name)
		line += " --- |"
	}
	b.WriteString("\n" + line + "\n")
	sums := map[string]tally{}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&b, "| %s |", name)
		for _, w := range ways {
			n, sum := found[name][w.name], sums[w.name]
			fmt.Fprintf(&b, " %s |", n)
			sum.read, sum.twice, sum.failed, sum.returned = sum.read+n.read, sum.twice+n.twice, sum.failed+n.failed, sum.returned+n.returned
			sum.all += n.all
			sums[w.name] = sum
		}
		b.WriteString("\n")
	}
	b.WriteString("| conversations of " + fmt.Sprint(sums[ways[0].name].all) + ": read, twice, failed, returned |")
	for _, w := range ways {
		s := sums[w.name]
		fmt.Fprintf(&b, " %d, %d, %d, %d |", s.read, s.twice, s.failed, s.returned)
	}
	b.WriteString("\n| a streamed reply |")
	for _, w := range ways {
		fmt.Fprintf(&b, " %.1f kB |", float64(sizes[w.name])/1000) // ids differ in length
	}
	b.WriteString("\n")
	return b.String()
}
