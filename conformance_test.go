package sotto_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
)

// This is the kit for ports in other languages; docs/conformance.md describes it.
const (
	kitFile = "testdata/conformance.jsonl"
	kitWant = "testdata/conformance.want.jsonl"
)

// A kitLine is one reply in the form that sotto split --jsonl takes.
type kitLine struct {
	ID      string          `json:"id"`
	Raw     *string         `json:"raw,omitempty"`
	Deltas  []string        `json:"deltas,omitempty"`
	Dialect string          `json:"dialect"`
	Start   sotto.Beginning `json:"start"`
	End     sotto.Ending    `json:"end"`
}

// kitCases are the cases of the corpus that JSON can hold and that a reading of the
// whole reply shows: cases without a hold, and with valid UTF-8.
func kitCases(t *testing.T) []corpusCase {
	return slices.DeleteFunc(readCorpus(t), func(c corpusCase) bool {
		return c.maxHold >= 0 || !utf8.ValidString(c.raw)
	})
}

// kitLines exports the corpus, every third reply in deltas.
func kitLines(t *testing.T, cases []corpusCase) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, c := range cases {
		l := kitLine{ID: c.name, Dialect: c.grammar.Dialect().Name, Start: c.start, End: c.end}
		if i%3 == 2 && c.raw != "" {
			l.Deltas = deltas(c.raw)
		} else {
			l.Raw = &c.raw
		}
		if err := enc.Encode(l); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// deltas cuts a reply between characters, since JSON cannot hold half a character.
func deltas(raw string) []string {
	rnd := rand.New(rand.NewPCG(7, uint64(len(raw))))
	var list []string
	var b strings.Builder
	for _, r := range raw {
		if b.Len() > 0 && rnd.IntN(3) == 0 {
			list = append(list, b.String())
			b.Reset()
		}
		b.WriteRune(r)
	}
	return append(list, b.String())
}

// TestConformanceKit compares the exported corpus with the corpus, and the kit's
// answers with the library's reading. A test of the command line compares the answers
// with what sotto split prints.
func TestConformanceKit(t *testing.T) {
	cases := kitCases(t)
	golden(t, kitFile, kitLines(t, cases))
	if updating() {
		return // the test of the command line writes the answers
	}
	answers, err := os.ReadFile(kitWant)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSuffix(answers, []byte("\n")), []byte("\n"))
	if len(lines) != len(cases) {
		t.Fatalf("%d answers to %d replies", len(lines), len(cases))
	}
	for i, c := range cases {
		c.agrees(t, lines[i])
	}
}

// golden compares a file with what it should hold, or rewrites it.
func golden(t *testing.T, name string, want []byte) {
	t.Helper()
	if updating() {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not hold to the corpus; go test -run 'TestCorpus$|TestConformanceKit' -update . rewrites it", name)
	}
}

// agrees compares a line of the answers with the reading of the case.
func (c *corpusCase) agrees(t *testing.T, line []byte) {
	t.Helper()
	type segment struct {
		Channel    sotto.Channel
		Start, End int
	}
	var got struct {
		V                    int
		ID                   string
		Visible              string
		Reasoning, Narration []string
		Segments             []segment
		Diagnostics          []sotto.Diagnostic
		Dialect              string
		Start                sotto.Beginning
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&got); err != nil {
		t.Errorf("%s: %v", c.name, err)
		return
	}
	r, err := c.grammar.Parse(c.raw, c.start, c.end)
	if err != nil {
		t.Fatal(err)
	}
	var segments []segment
	for _, sg := range r.Segments {
		segments = append(segments, segment{sg.Channel, sg.Start, sg.End})
	}
	if got.V != 1 || got.ID != c.name || got.Dialect != r.Dialect || got.Start != r.Start || got.Visible != r.Visible() ||
		!slices.Equal(got.Reasoning, r.Reasoning()) || !slices.Equal(got.Narration, r.Narration()) ||
		!slices.Equal(got.Segments, segments) || !slices.Equal(got.Diagnostics, r.Diagnostics) {
		t.Errorf("%s: the kit says %s", c.name, line)
	}
}
