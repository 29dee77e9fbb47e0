package sotto_test

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/dialect/dialectfile"
	"github.com/sotto-llm/sotto/dialecttest"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A corpusCase is one file of testdata/corpus; docs/conformance.md describes
// the format.
type corpusCase struct {
	name    string
	prose   string
	raw     string
	want    string
	grammar *sotto.Grammar
	start   sotto.Beginning
	end     sotto.Ending
	maxHold int // -1 means unlimited
}

const corpusDir = "testdata/corpus"

// kitDialects holds the dialects that the corpus needs and that no model writes.
const kitDialects = "testdata/conformance.dialects.json"

// updating reports whether the goldens are to be rewritten.
func updating() bool {
	f := flag.Lookup("update") // the flag belongs to the package's own tests
	return f != nil && f.Value.String() == "true"
}

func readCorpus(t testing.TB) []corpusCase {
	t.Helper()
	own := readKitDialects(t)
	names, err := filepath.Glob(filepath.Join(corpusDir, "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var cases []corpusCase
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parseCase(data, own)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c.name = strings.TrimSuffix(filepath.Base(name), ".txtar")
		cases = append(cases, c)
	}
	return cases
}

func readKitDialects(t testing.TB) map[string]*sotto.Grammar {
	t.Helper()
	data, err := os.ReadFile(kitDialects)
	if err != nil {
		t.Fatal(err)
	}
	list, err := dialectfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	own := map[string]*sotto.Grammar{}
	for _, d := range list {
		g, err := sotto.Compile(d)
		if err != nil {
			t.Fatal(err)
		}
		own[d.Name] = g
	}
	return own
}

func parseCase(data []byte, own map[string]*sotto.Grammar) (c corpusCase, err error) {
	a := txtar.Parse(data)
	c.prose, c.start, c.end, c.maxHold = strings.TrimSpace(string(a.Comment)), sotto.BeginOutside, sotto.EndStopped, -1
	if c.prose == "" {
		return c, fmt.Errorf("no sentence says what it shows")
	}
	dialect, replies := "default", 0
	for _, f := range a.Files {
		text := string(f.Data)
		switch f.Name {
		case "params":
			for line := range strings.Lines(text) {
				if err := c.param(strings.TrimSuffix(line, "\n"), &dialect); err != nil {
					return c, err
				}
			}
		case "reply":
			c.raw = strings.TrimSuffix(text, "\n")
			replies++
		case "reply.quoted":
			if c.raw, err = unquoteLines(text); err != nil {
				return c, err
			}
			replies++
		case "want":
			c.want = text
		default:
			return c, fmt.Errorf("unknown file %q", f.Name)
		}
	}
	if replies != 1 {
		return c, fmt.Errorf("%d replies", replies)
	}
	c.grammar = own[dialect]
	if c.grammar == nil {
		c.grammar, err = sotto.Named(dialect)
	}
	return c, err
}

func (c *corpusCase) param(line string, dialect *string) (err error) {
	key, value, _ := strings.Cut(line, " ")
	switch key {
	case "dialect":
		*dialect = value
	case "start":
		c.start = sotto.Beginning(value)
	case "end":
		err = c.end.UnmarshalText([]byte(value))
	case "max_hold":
		c.maxHold, err = strconv.Atoi(value)
	default:
		err = fmt.Errorf("unknown parameter %q", line)
	}
	return err
}

// unquoteLines reads a reply.quoted: one Go string per line, joined. A number
// before a string says how often it is repeated.
func unquoteLines(text string) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, times := strings.TrimSpace(line), 1
		if head, rest, ok := strings.Cut(line, " "); ok && line[0] != '"' {
			n, err := strconv.Atoi(head)
			if err != nil {
				return "", fmt.Errorf("%q: %w", line, err)
			}
			line, times = rest, n
		}
		s, err := strconv.Unquote(line)
		if err != nil {
			return "", fmt.Errorf("%q: %w", line, err)
		}
		b.WriteString(strings.Repeat(s, times))
	}
	return b.String(), nil
}

// A reading is everything that a case's want describes.
type reading struct {
	segments          []sotto.Segment
	diagnostics       []sotto.Diagnostic
	visible, inline   string
	pieces, inlineRaw string // the bytes handed out
}

func (a reading) equal(b reading) bool {
	return slices.Equal(a.segments, b.segments) && slices.Equal(a.diagnostics, b.diagnostics) &&
		a.visible == b.visible && a.inline == b.inline && a.pieces == b.pieces && a.inlineRaw == b.inlineRaw
}

// inlined are the channels that are shown in the text for a consumer without a
// place for them.
var inlined = []sotto.Channel{sotto.ChannelNarration, sotto.ChannelTool}

// stream reads the reply fed in cuts at the given offsets.
func (c *corpusCase) stream(t testing.TB, cuts ...int) reading {
	t.Helper()
	var r, in reading
	r.feed(t, c, sotto.Options{Start: c.start, MaxHold: c.maxHold}, cuts)
	in.feed(t, c, sotto.Options{Start: c.start, MaxHold: c.maxHold, Inline: inlined}, cuts)
	r.inline, r.inlineRaw = in.visible, in.pieces
	return r
}

func (r *reading) feed(t testing.TB, c *corpusCase, o sotto.Options, cuts []int) {
	t.Helper()
	s, err := c.grammar.NewSplitter(o)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, cut := range append(slices.Clone(cuts), len(c.raw)) {
		delta := []byte(c.raw[at:cut])
		r.take(t, s.Feed(delta))
		for i := range delta { // the delta belongs to the caller again
			delta[i] = '#'
		}
		at = cut
	}
	r.take(t, s.Close(c.end))
	r.diagnostics = slices.Clone(s.Diagnostics())
}

func (r *reading) take(t testing.TB, pieces []sotto.Piece) {
	t.Helper()
	for _, p := range pieces {
		r.visible += string(p.Visible)
		if p.Offset != len(r.pieces) {
			t.Fatalf("a piece at byte %d after %d", p.Offset, len(r.pieces))
		}
		r.pieces += string(p.Bytes)
		switch k := len(r.segments); {
		case p.Segment == k-1:
			r.segments[k-1].End = len(r.pieces)
		case p.Segment == k:
			r.segments = append(r.segments, sotto.Segment{
				Channel: p.Channel, Block: p.Block, Output: p.Output, Start: p.Offset, End: len(r.pieces),
			})
		default:
			t.Fatalf("segment %d after %d", p.Segment, k-1)
		}
	}
}

// blocks returns the contents of a channel's views, made from the segments.
func blocks(raw string, segments []sotto.Segment, ch sotto.Channel) []string {
	text := map[int]string{}
	var order []int
	for _, sg := range segments {
		if sg.Channel != ch {
			continue
		}
		if _, ok := text[sg.Block]; !ok {
			order = append(order, sg.Block)
		}
		text[sg.Block] += raw[sg.Start:sg.End]
	}
	var list []string
	for _, b := range order {
		if s := strings.Trim(text[b], " \t\n\v\f\r"); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// show writes a reading as a want.
func (c *corpusCase) show(r reading) string {
	var b strings.Builder
	for _, sg := range r.segments {
		name := sg.Channel.String()
		if sg.Output {
			name = "output"
		}
		if sg.Block > 0 {
			name += "." + strconv.Itoa(sg.Block)
		}
		fmt.Fprintf(&b, "%-12s %s\n", name, quote(c.raw[sg.Start:sg.End]))
	}
	b.WriteString("\n")
	fmt.Fprintf(&b, "visible:     %s\n", quote(r.visible))
	if r.inline != r.visible {
		fmt.Fprintf(&b, "inline:      %s\n", quote(r.inline))
	}
	for _, s := range blocks(c.raw, r.segments, sotto.ChannelReasoning) {
		fmt.Fprintf(&b, "reasoning:   %s\n", quote(s))
	}
	for _, s := range blocks(c.raw, r.segments, sotto.ChannelNarration) {
		fmt.Fprintf(&b, "narration:   %s\n", quote(s))
	}
	for _, d := range r.diagnostics {
		fmt.Fprintf(&b, "diagnostic:  %s", d.Code)
		if d.Reason != "" {
			fmt.Fprintf(&b, " (%s)", d.Reason)
		}
		fmt.Fprintf(&b, " at %d", d.Offset)
		if near := c.raw[d.Offset:]; near != "" {
			fmt.Fprintf(&b, " %s", strconv.Quote(near[:min(len(near), 20)]))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// quote is strconv.Quote, with long runs of one byte written as a number and the byte.
func quote(s string) string {
	const long = 40
	var parts []string
	from := 0
	for i := 0; i < len(s); {
		j := i + 1
		for j < len(s) && s[j] == s[i] {
			j++
		}
		if j-i >= long {
			if from < i {
				parts = append(parts, strconv.Quote(s[from:i]))
			}
			parts = append(parts, fmt.Sprintf("%d %q", j-i, s[i:i+1]))
			from = j
		}
		i = j
	}
	if from < len(s) || len(parts) == 0 {
		parts = append(parts, strconv.Quote(s[from:]))
	}
	return strings.Join(parts, " + ")
}

// whole reads the reply as a whole reply is read.
func (c *corpusCase) whole(t testing.TB) reading {
	t.Helper()
	r := c.stream(t)
	if c.maxHold >= 0 {
		return r
	}
	reply, err := c.grammar.Parse(c.raw, c.start, c.end)
	if err != nil {
		t.Fatal(err)
	}
	parsed := reading{
		segments: reply.Segments, diagnostics: reply.Diagnostics, pieces: c.raw, inlineRaw: c.raw,
		visible: reply.Visible(), inline: reply.VisibleWith(inlined...),
	}
	if !parsed.equal(r) {
		t.Errorf("Parse:\n%s\nthe splitter:\n%s", c.show(parsed), c.show(r))
	}
	if got, want := reply.Reasoning(), blocks(c.raw, r.segments, sotto.ChannelReasoning); !slices.Equal(got, want) {
		t.Errorf("Reasoning %q, the segments hold %q", got, want)
	}
	if got, want := reply.Narration(), blocks(c.raw, r.segments, sotto.ChannelNarration); !slices.Equal(got, want) {
		t.Errorf("Narration %q, the segments hold %q", got, want)
	}
	return r
}

func everyByte(n int) []int {
	var cuts []int
	for i := 1; i < n; i++ {
		cuts = append(cuts, i)
	}
	return cuts
}

// randomCuts returns random cuts, at about one byte in each.
func randomCuts(rnd *rand.Rand, n, each int) []int {
	var cuts []int
	for i := 1; i < n; i++ {
		if rnd.IntN(each) == 0 {
			cuts = append(cuts, i)
		}
	}
	return cuts
}

func TestCorpus(t *testing.T) {
	effort.OneGoroutine(t)
	for _, c := range readCorpus(t) {
		t.Run(c.name, func(t *testing.T) {
			whole := c.whole(t)
			got := c.show(whole)
			if got != c.want && updating() {
				c.rewrite(t, got)
			} else if got != c.want {
				t.Errorf("%s\nreads\n%s\nwant\n%s", c.prose, got, c.want)
			}
			if whole.pieces != c.raw {
				t.Errorf("the segments hold %q", whole.pieces)
			}
			check := func(cuts ...int) {
				t.Helper()
				if cut := c.stream(t, cuts...); !cut.equal(whole) && !t.Failed() {
					t.Errorf("cut at %v:\n%s\nwhole:\n%s", cuts, c.show(cut), c.show(whole))
				}
			}
			check(everyByte(len(c.raw))...)
			for i := 1; i < len(c.raw); i++ {
				check(i)
			}
			rnd := rand.New(rand.NewPCG(1, uint64(len(c.raw))))
			for i := range 24 {
				check(randomCuts(rnd, len(c.raw), 2+i%6)...)
			}
			c.stripTwice(t)
		})
	}
}

// rewrite replaces the want of a case in its file.
func (c *corpusCase) rewrite(t *testing.T, want string) {
	t.Helper()
	name := filepath.Join(corpusDir, c.name+".txtar")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	a := txtar.Parse(data)
	i := slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == "want" })
	if i < 0 {
		a.Files = append(a.Files, txtar.File{Name: "want"})
		i = len(a.Files) - 1
	}
	a.Files[i].Data = []byte(want)
	if err := os.WriteFile(name, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// stripTwice checks that what history keeps does not change when it is stripped again.
func (c *corpusCase) stripTwice(t *testing.T) {
	t.Helper()
	once, err := c.grammar.Strip(c.raw, c.start)
	if err != nil {
		t.Fatal(err)
	}
	if twice, _ := c.grammar.Strip(once, sotto.BeginOutside); twice != once {
		t.Errorf("Strip gives %q, and of that %q", once, twice)
	}
}

// Every diagnostic that the library reports appears in the corpus.
func TestCorpusIsWhole(t *testing.T) {
	missing := map[string]bool{}
	for _, code := range []sotto.Code{
		sotto.CodeTruncated, sotto.CodeRescued, sotto.CodeNested, sotto.CodeMismatchedClose, sotto.CodeOrphanClose, sotto.CodeStrayClose,
		sotto.CodeUnclosedOutput, sotto.CodeUnclosedNarration, sotto.CodeAssumedUnclosed, sotto.CodeSplicedMarker,
		sotto.CodeHoldExpired, sotto.CodeUnknownChannel, sotto.CodeMissingReasoning, sotto.CodeLateReasoning,
		sotto.CodeRepeatedReasoning, sotto.CodeNoVisibleAnswer,
	} {
		missing[string(code)+" at"] = true
	}
	for _, why := range []sotto.Reason{sotto.ReasonQuoted, sotto.ReasonInlineCode, sotto.ReasonFenced, sotto.ReasonLateOutput, sotto.ReasonDoubt} {
		missing[fmt.Sprintf("%s (%s)", sotto.CodeLiteralMarker, why)] = true
	}
	for i := range 14 {
		missing[fmt.Sprintf("g%02d-", i+1)] = true
	}
	for _, c := range readCorpus(t) {
		for what := range missing {
			if strings.Contains(c.want, "diagnostic:  "+what) || strings.HasPrefix(c.name, what) {
				delete(missing, what)
			}
		}
	}
	for what := range missing {
		t.Errorf("no file shows %q", what)
	}
}

// The laws hold for the default dialect and the corpus's own dialects, on the
// replies of the corpus; dialecttest checks the other dialects.
func TestCorpusLaws(t *testing.T) {
	if effort.Brief() {
		t.Skip("slow: SOTTO_EFFORT=1 runs it")
	}
	// The replies of the corpus matter here. dialecttest has its own tests for more
	// of the replies that it generates, and the long proofs run all of them.
	run := dialecttest.RunBrief
	if effort.Times() > 1 {
		run = dialecttest.Run
	}
	replies := map[string][]string{}
	dialects := map[string]dialect.Dialect{}
	own := readKitDialects(t)
	for _, c := range readCorpus(t) {
		d := c.grammar.Dialect()
		if own[d.Name] == nil && d.Name != "default" {
			continue
		}
		dialects[d.Name] = d
		replies[d.Name] = append(replies[d.Name], c.raw)
	}
	for _, name := range slices.Sorted(maps.Keys(dialects)) {
		t.Run(name, func(t *testing.T) {
			run(t, dialects[name], replies[name]...)
		})
	}
}
