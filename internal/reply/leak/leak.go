// Package leak finds reasoning in what was delivered as an answer: in a text, in a
// message of a chat API, and in a record of a log.
//
// It prefers silence to a false alarm. A tag that is quoted or in code is not a leak,
// as everywhere in Sotto, and neither is one that stands as a word in a sentence:
// "put it between <think> and </think>". Reasoning without any marker is not found; see
// [Hint].
package leak

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/reply/detect"
)

// A Kind says what was delivered.
type Kind string

// The kinds.
const (
	Block    Kind = "block"    // a block of reasoning, with its tags
	Close    Kind = "close"    // the end of a block whose beginning is missing
	Unclosed Kind = "unclosed" // the beginning of a block that does not end
	Empty    Kind = "empty"    // the tags of a block without a thought
	Repeated Kind = "repeated" // the reasoning that is on a field of its own too
	Unmarked Kind = "unmarked" // reasoning without a marker, known from other replies
)

// Kinds lists them, in the order of reports.
func Kinds() []Kind { return []Kind{Block, Close, Unclosed, Empty, Repeated, Unmarked} }

// A Leak is reasoning in a text that is an answer.
type Leak struct {
	Kind    Kind
	Dialect string // that knows the marker; "" if there is none
	Sample  string // the beginning of the leak, as it is: escape it where it is shown
}

// sampleLen is the most that a sample has, in bytes.
const sampleLen = 200

// String describes a leak. It quotes the beginning of the text.
func (l Leak) String() string {
	what := map[Kind]string{
		Block: "reasoning", Close: "the end of a reasoning block whose beginning is missing",
		Unclosed: "a reasoning block that does not end", Empty: "the tags of an empty reasoning block",
		Repeated: "the reasoning of the field for it, repeated", Unmarked: "reasoning without a marker",
	}[l.Kind]
	if l.Dialect != "" {
		what += fmt.Sprintf(" (dialect %s)", l.Dialect)
	}
	return what + ": " + Quote(l.Sample)
}

// Quote shows the beginning of a text.
func Quote(s string) string {
	n := 0
	for i := range s {
		if n++; n > 80 {
			s = s[:i] + "…"
			break
		}
	}
	return fmt.Sprintf("%q", s)
}

// A Finder finds leaks, by the markers of its dialects. It is safe for concurrent use.
type Finder struct {
	// ForModel returns the grammar for the name of a model. It is sotto.ForModel, unless
	// there are dialects from files.
	ForModel func(model string) (*sotto.Grammar, bool)

	markers  *detect.Detector
	sieve    func() *detect.Sieve             // made at its first use
	grammars map[string]func() *sotto.Grammar // compiled at their first use, because most finders use few
	model    string                           // of the replies, if a record says it
}

// of returns the finder for the replies of a model. The model's dialect is tried before
// the others.
func (f *Finder) of(model string) *Finder {
	one := *f
	one.model = model
	return &one
}

// New returns a finder that knows the default dialect and these.
func New(dialects []dialect.Dialect) *Finder {
	f := &Finder{ForModel: sotto.ForModel, grammars: map[string]func() *sotto.Grammar{}}
	all := []dialect.Dialect{sotto.Default().Dialect()}
	for _, d := range dialects {
		if d.Name == all[0].Name || d.Start != "" && d.Start != "outside" {
			continue
		}
		all = append(all, d)
	}
	for _, d := range all {
		f.grammars[d.Name] = sync.OnceValue(func() *sotto.Grammar { return sotto.MustCompile(d) })
	}
	f.markers = detect.New(all)
	f.sieve = sync.OnceValue(func() *detect.Sieve { return detect.New(slices.Concat(all, dialects)).Sieve(mayLeak()...) })
	return f
}

// MayLeak reports whether a record in JSON can hold a leak: it may have a marker, a member
// whose reasoning an answer can repeat, or a stream whose deltas may be parts of a marker.
// Of a record that cannot, no text has a marker of any dialect. It is much faster than Record.
func (f *Finder) MayLeak(record []byte) bool { return f.sieve().May(record) }

// mayLeak returns what a record without markers has if Record finds a leak in it.
func mayLeak() []string {
	texts := []string{"data:", "event:", `"thought"`} // a stream, and a part of Gemini
	for _, name := range reasoningFields {
		texts = append(texts, `"`+name+`"`)
	}
	return texts
}

// Shipped is the finder of the dialects that Sotto has.
var Shipped = sync.OnceValue(func() *Finder { return New(dialect.All()) })

// A Place is what kind of text it is.
type Place int

const (
	Answer Place = iota // what a model says: prose, with code in fences
	// Value is text that may be code or a document, such as an argument of a tool or
	// its result: only a block at its beginning is one, or a close at the end or at
	// the beginning of a line.
	Value
)

// mostText is how much of a text is read, in bytes: about 250,000 tokens.
const mostText = 1 << 20

// Find returns the first leak in a text. end says how the text ended: where a limit
// cut it, it may end within a block.
func (f *Finder) Find(text string, end sotto.Ending, in Place) (Leak, bool) {
	return f.find(text, f.dialectsIn(text), end, in)
}

// dialectsIn returns the dialects whose markers the part of a text has that is read.
func (f *Finder) dialectsIn(text string) []string {
	return f.markers.Readers(shorttext.Cut(text, mostText))
}

// find is Find for a text with markers of these dialects.
func (f *Finder) find(text string, dialects []string, end sotto.Ending, in Place) (Leak, bool) {
	if len(dialects) == 0 {
		return Leak{}, false
	}
	if len(text) > mostText {
		text, end = shorttext.Cut(text, mostText), sotto.EndCut
	}
	if f.model != "" {
		if g, known := f.ForModel(f.model); known {
			if l, ok := findBy(g, text, end, in); ok {
				return l, true
			}
		}
	}
	for _, name := range dialects {
		if l, ok := findBy(f.grammars[name](), text, end, in); ok {
			return l, true
		}
	}
	return Leak{}, false
}

// findBy reads a text in one dialect.
func findBy(g *sotto.Grammar, text string, end sotto.Ending, in Place) (Leak, bool) {
	r, err := g.Parse(text, sotto.BeginOutside, end)
	if err != nil {
		return Leak{}, false
	}
	name := g.Dialect().Name
	for _, b := range blocks(r, g.Dialect()) {
		if kind, ok := b.kind(text, in); ok {
			return Leak{kind, name, shorttext.Cut(text[b.start:], sampleLen)}, true
		}
	}
	listed := 0
	for _, d := range r.Diagnostics {
		if d.Code != sotto.CodeOrphanClose && !(d.Code == sotto.CodeStrayClose && strings.TrimSpace(text[:d.Offset]) == "") {
			continue
		}
		listed++
		if closesThought(text, d.Offset, in) {
			from := max(0, d.Offset-40)
			for !utf8.RuneStart(text[from]) {
				from++
			}
			return Leak{Close, name, shorttext.Cut(text[from:], sampleLen)}, true
		}
	}
	if n := r.Counts[sotto.CodeOrphanClose]; n > listed && len(r.Diagnostics) == sotto.MaxDiagnostics { // it is beyond those that are kept
		return Leak{Close, name, shorttext.Cut(text, sampleLen)}, true
	}
	return Leak{}, false
}

// mostBody is how much of a body is looked at, in bytes.
const mostBody = 4 << 10

// A block is a block of reasoning in a text.
type block struct {
	start, end int
	body       string // its beginning
	closed     bool
}

// blocks returns the blocks of reasoning, also those that hold nothing.
func blocks(r *sotto.Reply, d dialect.Dialect) (list []block) {
	at := 0 // the block that is open, in the list; its number
	for _, s := range r.Segments {
		switch {
		case s.Block == 0 || s.Output:
		case s.Block != at:
			if s.Channel == sotto.ChannelMarkup && opensThought(r.Raw[s.Start:s.End], d) {
				at = s.Block
				list = append(list, block{start: s.Start, end: s.End})
			}
		default:
			b := &list[len(list)-1]
			b.end, b.closed = s.End, s.Channel == sotto.ChannelMarkup
			if room := mostBody - len(b.body); s.Channel == sotto.ChannelReasoning && room > 0 {
				b.body += shorttext.Cut(r.Raw[s.Start:s.End], room)
			}
		}
	}
	return list
}

// opensThought reports whether a marker opens a block of reasoning. A header names the
// channel after its marker.
func opensThought(marker string, d dialect.Dialect) bool {
	if d.Header != nil {
		return true
	}
	marker = strings.ToLower(marker)
	for _, m := range d.Markers {
		if m.Role != dialect.RoleReasoning {
			continue
		}
		if name, ok := strings.CutPrefix(marker, "<"); ok && m.Tag != "" && strings.HasPrefix(strings.TrimLeft(name, " \t"), m.Tag) {
			return true
		}
		for _, open := range m.Open {
			if strings.TrimSpace(strings.ToLower(open)) == strings.TrimSpace(marker) {
				return true
			}
		}
	}
	return false
}

// fewWords is how many words stand between two tags that a sentence is about.
const fewWords = 6

// kind returns what kind of leak the block is, if it is one.
func (b *block) kind(text string, in Place) (Kind, bool) {
	before := text[strings.LastIndexByte(text[:b.start], '\n')+1 : b.start]
	after, _, _ := strings.Cut(text[b.end:], "\n")
	begins := strings.TrimSpace(before) == ""
	words, letters := len(strings.Fields(b.body)), strings.ContainsFunc(b.body, unicode.IsLetter)
	switch {
	case in == Value && strings.TrimSpace(text[:b.start]) != "":
		return "", false
	case strings.TrimSpace(b.body) == "":
		return Empty, b.closed && begins
	case !letters: // <think>...</think>, <think>.*?</think>: a form, not a thought
		return "", false
	case !begins && words <= fewWords && !strings.Contains(b.body, "\n") && (strings.TrimSpace(after) != "" || !b.closed):
		return "", false // a word in a sentence
	case !b.closed:
		return Unclosed, true
	}
	return Block, true
}

// closesThought reports whether a close that nothing opened ends a thought, and is not
// a word in a sentence.
func closesThought(text string, at int, in Place) bool {
	before := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	after := text[at:]
	if i := strings.IndexAny(after, ">]▷"); i >= 0 {
		_, n := utf8.DecodeRuneInString(after[i:])
		after = after[i+n:]
	}
	after, _, _ = strings.Cut(after, "\n")
	switch said := strings.TrimRight(before, " \t"); {
	case strings.TrimSpace(after) == "", strings.TrimSpace(said) == "":
		return true
	case in == Value:
		return false
	case said == before: // glued to the word before it
		return true
	default:
		last, _ := utf8.DecodeLastRuneInString(said)
		return strings.ContainsRune(".!?…:。！？)", last)
	}
}

// leastRepeated and mostRepeated are how much of the reasoning, from its beginning,
// must be in an answer to be a repetition, in bytes. An answer often says once more
// what a short thought said.
const (
	leastRepeated = 60
	mostRepeated  = 200
)

// Repeats finds the reasoning of a message in its answer.
func Repeats(answer, reasoning string) (Leak, bool) {
	head := shorttext.Cut(strings.TrimSpace(reasoning), mostRepeated)
	if len(head) < leastRepeated || !strings.Contains(answer, head) {
		return Leak{}, false
	}
	return Leak{Kind: Repeated, Sample: head}, true
}
