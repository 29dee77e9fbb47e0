package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect/dialectfile"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire"
)

// A corpusReply is one of the corpus.
type corpusReply struct {
	name    string
	raw     string
	grammar *sotto.Grammar
	start   sotto.Beginning
	end     sotto.Ending
	hold    int
}

// corpus reads the files of testdata/corpus.
func corpus(t testing.TB) []corpusReply {
	t.Helper()
	data, err := os.ReadFile("../testdata/conformance.dialects.json")
	if err != nil {
		t.Fatal(err)
	}
	own, err := dialectfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	named := func(name string) (*sotto.Grammar, error) {
		for _, d := range own {
			if d.Name == name {
				return sotto.Compile(d)
			}
		}
		return sotto.Named(name)
	}
	names, err := filepath.Glob("../testdata/corpus/*.txtar")
	if err != nil || len(names) < 300 {
		t.Fatalf("%d files of the corpus, %v", len(names), err)
	}
	var all []corpusReply
	for _, name := range names {
		w := corpusReply{name: strings.TrimSuffix(filepath.Base(name), ".txtar"), start: sotto.BeginOutside, end: sotto.EndStopped, hold: -1}
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		dialect := "default"
		for _, f := range a.Files {
			switch f.Name {
			case "params":
				dialect = w.params(t, string(f.Data), dialect)
			case "reply":
				w.raw = strings.TrimSuffix(string(f.Data), "\n")
			case "reply.quoted":
				w.raw = unquote(t, string(f.Data))
			}
		}
		if w.grammar, err = named(dialect); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, w)
	}
	return all
}

func (w *corpusReply) params(t testing.TB, text, dialect string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		var err error
		switch key {
		case "dialect":
			dialect = value
		case "start":
			w.start = sotto.Beginning(value)
		case "end":
			err = w.end.UnmarshalText([]byte(value))
		case "max_hold":
			w.hold, err = strconv.Atoi(value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dialect
}

func unquote(t testing.TB, text string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, times := strings.TrimSpace(line), 1
		if head, rest, ok := strings.Cut(line, " "); ok && line[0] != '"' {
			times, _ = strconv.Atoi(head)
			line = rest
		}
		s, err := strconv.Unquote(line)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(strings.Repeat(s, times))
	}
	return b.String()
}

func (w *corpusReply) reader() wire.Reader {
	return gateway.NewReading(gateway.Manner{Grammar: w.grammar, Start: w.start, MaxHold: w.hold})
}

// rightly is what a client should get of the reply. Where the hold is bounded it
// is what a splitter so bounded hands out.
func (w *corpusReply) rightly(t testing.TB) (text, thought string) {
	t.Helper()
	if w.hold < 0 {
		r, err := w.grammar.Parse(w.raw, w.start, w.end)
		if err != nil {
			t.Fatal(err)
		}
		return r.VisibleWith(sotto.ChannelNarration, sotto.ChannelTool), strings.Join(r.Reasoning(), "\n\n")
	}
	s, err := w.grammar.NewSplitter(sotto.Options{Start: w.start, MaxHold: w.hold, Inline: []sotto.Channel{sotto.ChannelNarration, sotto.ChannelTool}})
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	last := -1
	take := func(pieces []sotto.Piece) {
		for _, p := range pieces {
			text += string(p.Visible)
			if p.Channel != sotto.ChannelReasoning {
				continue
			}
			if p.Block != last {
				blocks = append(blocks, "")
				last = p.Block
			}
			blocks[len(blocks)-1] += string(p.Bytes)
		}
	}
	take(s.FeedString(w.raw))
	take(s.Close(w.end))
	var inked []string
	for _, b := range blocks {
		if b = strings.Trim(b, " \t\n\v\f\r"); b != "" {
			inked = append(inked, b)
		}
	}
	return text, strings.Join(inked, "\n\n")
}

// pieces cuts a text at offsets.
func pieces(text string, at ...int) []string {
	var list []string
	from := 0
	for _, i := range at {
		list = append(list, text[from:i])
		from = i
	}
	return append(list, text[from:])
}

// byteByByte cuts a text into its bytes.
func byteByByte(text string) []string {
	var list []string
	for i := range len(text) {
		list = append(list, text[i:i+1])
	}
	return list
}

// TestFailedResponse ends the replies of the corpus by an error of the upstream's
// that repeats what there was: it too says what the events before it said.
func TestFailedResponse(t *testing.T) {
	s := responsesSpeaker
	s.finish = func(text string, _ sotto.Ending) string { return responsesFinish(text, "failed", responsesBroke) }
	for _, w := range corpus(t) {
		w.end = sotto.EndAborted
		text, thought := w.rightly(t)
		for _, cut := range [][]string{{w.raw}, byteByByte(w.raw)} {
			h := s.listen(t, s.through([]byte(s.stream(cut, w.end)), s.settings(), w.reader(), nil))
			if string(h.text) != text || string(h.thought) != thought || !h.done || !strings.Contains(h.failed, "busy") {
				t.Fatalf("%s:\ntext    %q\nwant    %q\nthought %q\nwant    %q\nfailed %q, done %v", w.name, h.text, text, h.thought, thought, h.failed, h.done)
			}
		}
	}
}

// TestCorpus sends the corpus through every codec, cut at every byte, at every
// single place, at random places and whole: a client gets what the reading of
// the reply says, and the same however it came, in a reply that is exact and in one that is
// written.
func TestCorpus(t *testing.T) {
	replies := corpus(t)
	for _, s := range speakers {
		for _, written := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s written=%v", s.name(), written), func(t *testing.T) {
				t.Parallel()
				testCorpus(t, s, written, replies)
			})
		}
	}
}

func testCorpus(t *testing.T, s speaker, written bool, replies []corpusReply) {
	settings := s.settings()
	settings.Written = written
	chosen := effort.OneIn(8, fmt.Sprint(s.name(), written))
	for _, w := range replies {
		if !chosen() {
			continue
		}
		if w.end == sotto.EndAborted && !s.aborts {
			continue
		}
		text, thought := w.rightly(t)
		check := func(how string, h *heard) {
			t.Helper()
			if string(h.text) != text || string(h.thought) != thought || h.failed != "" || !h.done && w.end != sotto.EndUnknown {
				t.Fatalf("%s %s:\ntext    %q\nwant    %q\nthought %q\nwant    %q\nfailed %q, done %v", w.name, how, h.text, text, h.thought, thought, h.failed, h.done)
			}
		}
		if w.hold < 0 {
			r := w.reader()
			check("whole", s.listenWhole(t, s.codec.Reply(settings).Whole(nil, []byte(s.whole(w.raw, w.end)), r)))
		}
		stream := func(how string, cut []string) {
			t.Helper()
			check(how, s.listen(t, s.through([]byte(s.stream(cut, w.end)), settings, w.reader(), nil)))
		}
		stream("in one frame", []string{w.raw})
		if len(w.raw) > 4000 {
			continue // the splitter's own tests cut it
		}
		stream("byte by byte", byteByByte(w.raw))
		random := rand.New(rand.NewPCG(1, uint64(len(w.raw))))
		step := 1 + len(w.raw)/40
		if effort.Brief() {
			step = 1 + len(w.raw)
		}
		for i := 1 + random.IntN(step); i < len(w.raw); i += step {
			stream(fmt.Sprintf("cut at %d", i), pieces(w.raw, i))
		}
	}
}
