package dialecttest_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialecttest"
)

// Every law and every rule of docs/design.md has examples, which are read as they
// say, and which keep the laws.
func TestDesign(t *testing.T) {
	doc, err := os.ReadFile("../docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile(`(?m)^### ((?:Law \d|G\d+)[^\n]*)\n`).FindAllSubmatchIndex(doc, -1)
	if len(rules) != 7+14 {
		t.Errorf("%d laws and rules, want 7 and 14", len(rules))
	}
	for i, at := range rules {
		end := len(doc)
		if i+1 < len(rules) {
			end = rules[i+1][0]
		}
		t.Run(string(doc[at[2]:at[3]]), func(t *testing.T) {
			blocks := strings.Split(string(doc[at[1]:end]), "\n```reading\n")[1:]
			if len(blocks) == 0 {
				t.Error("no example")
			}
			for _, block := range blocks {
				block, _, _ = strings.Cut(block, "\n```")
				for _, text := range strings.Split(block, "\n\n") {
					runExample(t, text)
				}
			}
		})
	}
}

// An example is a reading in lines of a key and a value. The first lines are its
// input: dialect, start and end, and the reply, or its deltas and the close.
func runExample(t *testing.T, text string) {
	t.Helper()
	dialect, opts, end := "default", sotto.Options{}, sotto.EndStopped
	var input []string // the lines to keep
	var deltas []string
	streamed := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		key, value, _ := strings.Cut(line, " ")
		value = strings.TrimSpace(value)
		switch key {
		case "dialect":
			dialect = value
		case "start":
			opts.Start = sotto.Beginning(value)
		case "end", "close":
			if err := end.UnmarshalText([]byte(value)); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		case "reply", "delta":
			s, err := strconv.Unquote(value)
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			deltas, streamed = append(deltas, s), key == "delta"
		default:
			continue // what the reading gives
		}
		input = append(input, line)
	}
	g, err := sotto.Named(dialect)
	if err != nil {
		t.Fatal(err)
	}
	opts.Start = cmp.Or(opts.Start, sotto.Beginning(g.Dialect().Start))
	got := wholeReading
	if streamed {
		got = streamedReading
	}
	lines, err := got(g, opts, end, input, deltas)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Join(lines, "\n"); spaces.ReplaceAllString(text, " ") != spaces.ReplaceAllString(want, " ") {
		t.Errorf("docs/design.md says\n%s\n\nwant\n%s", text, want)
	}
	keepsLaws(t, g, opts, end, strings.Join(deltas, ""))
}

var spaces = regexp.MustCompile(` +`)

// wholeReading returns the lines of an example that gives one whole reply.
func wholeReading(g *sotto.Grammar, opts sotto.Options, end sotto.Ending, input, deltas []string) ([]string, error) {
	reply, err := g.Parse(deltas[0], opts.Start, end)
	if err != nil {
		return nil, err
	}
	lines := input
	add := func(key, value string) { lines = append(lines, fmt.Sprintf("%-11s%q", key, value)) }
	for _, s := range reply.Reasoning() {
		add("reasoning", s)
	}
	for _, s := range reply.Narration() {
		add("narration", s)
	}
	for _, s := range reply.Segments {
		if s.Channel == sotto.ChannelTool || s.Channel == sotto.ChannelAside {
			add(s.Channel.String(), deltas[0][s.Start:s.End])
		}
	}
	add("visible", reply.Visible())
	for _, d := range reply.Diagnostics {
		reason := ""
		if d.Reason != "" {
			reason = " (" + string(d.Reason) + ")"
		}
		lines = append(lines, fmt.Sprintf("flagged    %s at %d%s", d.Code, d.Offset, reason))
	}
	return lines, nil
}

// streamedReading returns the lines of an example that gives deltas, each with the
// pieces that it settles.
func streamedReading(g *sotto.Grammar, opts sotto.Options, end sotto.Ending, input, deltas []string) ([]string, error) {
	s, err := g.NewSplitter(opts)
	if err != nil {
		return nil, err
	}
	var lines []string
	pieces := func(list []sotto.Piece) {
		for _, p := range list {
			if len(p.Bytes) > 0 {
				lines = append(lines, fmt.Sprintf("  gives    %s %q", p.Channel, p.Bytes))
			}
		}
	}
	for _, line := range input {
		lines = append(lines, line)
		switch {
		case strings.HasPrefix(line, "delta"):
			pieces(s.FeedString(deltas[0]))
			deltas = deltas[1:]
		case strings.HasPrefix(line, "close"):
			pieces(s.Close(end))
		}
	}
	return lines, nil
}

// keepsLaws checks the laws for a reply, and that the slow reader reads it alike.
func keepsLaws(t *testing.T, g *sotto.Grammar, opts sotto.Options, end sotto.Ending, raw string) {
	t.Helper()
	text, err := json.Marshal(g.Dialect())
	if err != nil {
		t.Fatal(err)
	}
	start := cmp.Or(opts.Start, sotto.Beginning(g.Dialect().Start), sotto.BeginOutside)
	for _, law := range []string{"conservation", "split_invariance", "idempotence", "monotony", "slow_reader"} {
		dialecttest.Case{Law: law, Dialect: string(text), Raw: raw, Start: start, End: end, MaxHold: -1}.Run(t)
	}
}
