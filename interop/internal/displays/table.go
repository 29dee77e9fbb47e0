package displays

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/routing"
)

// A Row is a client of the table in the guide, with what it does not do under some displays.
type Row struct {
	Name, API string
	Client    Client
	Beside    string // what it does not do under any display
}

// Table is the table of clients under every display.
func Table(rows []Row) string {
	var b strings.Builder
	b.WriteString("| client |")
	line := "| --- |"
	for _, d := range routing.Displays() {
		fmt.Fprintf(&b, " `%s` |", d)
		line += " --- |"
	}
	b.WriteString("\n" + line + "\n")
	var why []string
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s |", r.Name)
		for _, d := range routing.Displays() {
			fmt.Fprintf(&b, " %s |", r.cell(d))
			if f := FaultOf(r.API, "", d); f != nil {
				why = append(why, fmt.Sprintf("- %s, `%s`: %s. This is a limit of Sotto.\n", r.Name, d, f.Why))
			}
		}
		b.WriteString("\n")
	}
	if len(why) > 0 {
		b.WriteString("\n" + strings.Join(why, ""))
	}
	return b.String()
}

func (r *Row) cell(d routing.Display) string {
	says := []string{"yes"}
	if f := FaultOf(r.API, "", d); f != nil {
		says = []string{f.Cell}
	}
	if d == routing.DisplayField && r.Client.Silent {
		says = append(says, "it reads no thoughts")
	}
	if d == routing.DisplayField && r.Client.Repeats {
		says = append(says, "twice in a stream")
	}
	if r.Client.Parses && (d == routing.DisplayKeep || d == routing.DisplayTags) {
		says = append(says, "it takes tags in a stream for a thought")
	}
	if d == routing.DisplayField && r.Client.Bare {
		says = append(says, "it reads no thought beside calls")
	}
	if r.Client.Forgets {
		says = append(says, "it sends no calls back")
	}
	if r.Client.Drops {
		says = append(says, "it leaves out whole replies with an empty text")
	}
	if r.Beside != "" {
		says = append(says, r.Beside)
	}
	return strings.Join(slices.Compact(says), "; ")
}

// CheckDocument compares the part of a document that a test writes, or writes it.
func CheckDocument(t *testing.T, document, heading, want string, update bool) {
	t.Helper()
	open, shut := "<!-- "+heading+" -->\n", "<!-- end -->\n"
	b, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(b), open)
	old, after, closed := strings.Cut(rest, shut)
	switch {
	case !ok || !closed:
		t.Fatalf("%s has no %s…%s", document, open, shut)
	case old == want:
	case !update:
		t.Fatalf("%s has another table than the run (-update):\n%s", document, want)
	default:
		if err := os.WriteFile(document, []byte(before+open+want+shut+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
