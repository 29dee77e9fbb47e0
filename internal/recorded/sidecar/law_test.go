package sidecar

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/recorded/recordsearch"
	"github.com/sotto-llm/sotto/record"
)

// longWord is longer than what is listed, and does not repeat itself.
var longWord = func() string {
	var b strings.Builder
	for i := range 600 {
		fmt.Fprintf(&b, "a%db", i*i)
	}
	return b.String()
}()

// drawn texts have few letters, so that words are parts of each other.
func drawText(t *rapid.T, name string) string {
	word := rapid.StringOfN(rapid.SampledFrom([]rune("abAB1ſKkéÉ中文ไ")), 1, 12, -1)
	parts := rapid.SliceOfN(rapid.OneOf(word, rapid.SampledFrom([]string{" ", "-", "\n", `"`, "<think>", "</think>", "\xff", "base64:", strings.Repeat("ab", 50), strings.Repeat("ab", 40), strings.Repeat("ab", 600), longWord, "the quick", "zebra"})), 0, 8).Draw(t, name)
	return strings.Join(parts, "")
}

func drawReply(t *rapid.T) record.Reply {
	read, err := sotto.Default().Parse(drawText(t, "reply"), sotto.BeginOutside, sotto.EndStopped)
	if err != nil {
		t.Fatal(err)
	}
	r := record.ReplyOf(read)
	if rapid.Bool().Draw(t, "calls") {
		r.ToolCalls = []record.Call{{ID: "c", Name: rapid.SampledFrom([]string{"get", "put"}).Draw(t, "tool"), Arguments: record.Say(drawText(t, "arguments"))}}
	}
	return r
}

var runNames = []string{"", "run-1", "run-2", "run-1+agent", "session-1"}

func drawEvent(t *rapid.T) record.Event {
	model := rapid.SampledFrom([]string{"a", "b", "qwen3:8b"}).Draw(t, "model")
	e := record.Event{Run: rapid.SampledFrom(runNames).Draw(t, "run"), Cycle: rapid.IntRange(0, 3).Draw(t, "cycle")}
	ids := map[string]string{}
	if rapid.Bool().Draw(t, "ids") {
		ids["session_id"] = rapid.SampledFrom([]string{"session-1", "session-2", ""}).Draw(t, "session")
		ids[record.IDTrace] = "0af7651916cd43dd8448eb211c80319c"
	}
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	default:
		x := record.Exchange{
			ID: rapid.SampledFrom([]string{"", "x-1", "x-2"}).Draw(t, "id"), API: "chat", Model: model, Caller: rapid.SampledFrom([]string{"", "alice"}).Draw(t, "caller"),
			Outcome: rapid.SampledFrom([]string{"answered", "failed"}).Draw(t, "outcome"), Millis: rapid.Int64Range(-1, 1<<40).Draw(t, "ms"), IDs: ids,
			Messages: []record.Message{{Role: "user", Text: record.Say(drawText(t, "prompt"))}}, Error: drawText(t, "error"),
			Usage: &record.Usage{Input: rapid.Int64().Draw(t, "input"), Output: 7}, History: "removed=12 bytes",
		}
		if rapid.Bool().Draw(t, "replied") {
			x.Replies = []record.Reply{drawReply(t)}
		}
		e.Payload = x
	case 1:
		e.Payload = record.Invocation{Model: model, Provider: "p", Replies: []record.Reply{drawReply(t), drawReply(t)}}
	case 2:
		e.Payload = record.RunStart{ID: "id-1", Model: model, IDs: ids, Goal: record.Say(drawText(t, "goal"))}
	case 3:
		e.Payload = record.ToolCall{Name: "get", Result: record.Say(drawText(t, "result")), Error: rapid.SampledFrom([]string{"", "zebra fell"}).Draw(t, "toolerror")}
	case 4:
		e.Payload = record.Failure{Code: rapid.SampledFrom([]string{"dropped", "a\nb", ""}).Draw(t, "code"), Message: drawText(t, "message")}
	case 5:
		e.Payload = record.Unknown{Name: "NEW", JSON: []byte(rapid.SampledFrom([]string{
			`{"error":12.50,"text":"zebra"}`, `{"message":"the quick zebra"}`, `{"t\u0065xt":{"text":"zebra"}}`, `{"deep":` + strings.Repeat("[", 20) + `{"text":"zebra"}` + strings.Repeat("]", 20) + `}`,
			`{"a":{"TEXT":"zebra","text":"quick"}}`, `{"x":{"text":"\ud83d\ude00zebra","cuts":[]}}`, `{"error":true}`,
		}).Draw(t, "unknown"))}
	}
	return e
}

func drawQuery(t *rapid.T, all []record.Event) record.Query {
	var q record.Query
	sometimes := func(name string, f func()) {
		if rapid.IntRange(0, 3).Draw(t, name) == 0 {
			f()
		}
	}
	sometimes("by run", func() { q.Run = rapid.SampledFrom(runNames).Draw(t, "qrun") })
	sometimes("by cycle", func() { n := rapid.IntRange(0, 3).Draw(t, "qcycle"); q.Cycle = &n })
	sometimes("by type", func() {
		q.Types = []record.Type{record.TypeExchange, rapid.SampledFrom([]record.Type{"NEW", record.TypeError, record.TypeInvocation}).Draw(t, "qtype")}
	})
	sometimes("by model", func() { q.Model = rapid.SampledFrom([]string{"a", "b", "none"}).Draw(t, "qmodel") })
	sometimes("by code", func() {
		q.Diagnostic = rapid.SampledFrom([]string{"dropped", "a\nb", "a", "truncated", "no_visible_answer"}).Draw(t, "qcode")
	})
	at := func(name string) time.Time {
		if len(all) == 0 {
			return time.Now()
		}
		return all[rapid.IntRange(0, len(all)-1).Draw(t, name)].Time
	}
	sometimes("from", func() { q.From = at("qfrom") })
	sometimes("to", func() { q.To = at("qto") })
	sometimes("after", func() { q.After = rapid.Uint64Range(0, uint64(len(all))+2).Draw(t, "qafter") })
	sometimes("before", func() { q.Before = rapid.Uint64Range(0, uint64(len(all))+2).Draw(t, "qbefore") })
	sometimes("skip", func() {
		wanted := rapid.SliceOfN(rapid.Uint64Range(0, uint64(len(all))+2), 0, 4).Draw(t, "wanted")
		q.Skip = func(first, last uint64) bool {
			return !slices.ContainsFunc(wanted, func(seq uint64) bool { return first <= seq && seq <= last })
		}
	})
	sometimes("limit", func() { q.Limit = rapid.IntRange(1, 9).Draw(t, "qlimit") })
	q.NoCheckpoints = rapid.Bool().Draw(t, "no checkpoints")
	return q
}

func drawPattern(t *rapid.T) *regexp.Regexp {
	word := func(name string) string {
		return regexp.QuoteMeta(rapid.StringOfN(rapid.SampledFrom([]rune("abAB1ſKké中文ไzebr \xff-")), 1, 5, -1).Draw(t, name))
	}
	form := rapid.SampledFrom([]string{"%[1]s", "(?i)%[1]s", "%[1]s|%[2]s", "%[1]s.*%[2]s", "(%[1]s)+%[2]s", "[kK]%[1]s", "\\b%[1]s\\b", "(?i)zebra", "the quick", "ZEBRA", "(?i)QUICK ZEB", "%[1]s?%[2]s", "%[1]s{2,3}", "12.5", "(?m)^%[1]s$", "12\\.5", "true", "abab", "get", "(?i)PUT", "(?i)(ab){12}", "(ab){20}", "(ab){40}", "b(ab){33}\\b", "-(ab){35}", " (ab){50} "}).Draw(t, "form")
	text := form
	if strings.Contains(form, "%") {
		text = fmt.Sprintf(strings.ReplaceAll(form, "%[2]s", word("two")), word("one"))
	}
	p, err := regexp.Compile(text)
	if err != nil {
		return regexp.MustCompile("zebra")
	}
	return p
}

// drawn is a record, and what it is read with.
type drawn struct {
	dir string
	o   record.ReadOptions
	// spoiled says that sidecars may not fit.
	spoiled bool
}

var testIdentity = func() *age.X25519Identity {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		panic(err)
	}
	return id
}()

func drawRecord(t *rapid.T, dir string) drawn {
	d := drawn{dir: dir, o: record.ReadOptions{NoIndex: true}}
	o := record.Options{Policy: record.None, SegmentSize: int64(rapid.SampledFrom([]int{500, 4000, 100_000}).Draw(t, "segment"))}
	if rapid.IntRange(0, 3).Draw(t, "encrypted") == 0 {
		o.Recipients = []age.Recipient{testIdentity.Recipient()}
		d.o.Identities = []age.Identity{testIdentity}
	}
	opens := rapid.IntRange(1, 3).Draw(t, "opens")
	for range opens {
		w, err := record.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			e := drawEvent(t)
			if rapid.IntRange(0, 3).Draw(t, "wait") == 0 {
				_, err = w.Append(t.Context(), e)
			} else if !w.Enqueue(e) {
				err = errors.New("refused")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "index now") {
			d.make(t)
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "prune") == 0 {
		if _, err := record.Prune(dir, record.PruneOptions{Keep: int64(rapid.IntRange(1, 5000).Draw(t, "keep"))}); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d drawn) make(t *rapid.T) Made {
	m, err := Make(t.Context(), d.dir, Options{Identities: d.o.Identities, Small: true})
	if err != nil || len(m.Skipped) > 0 {
		t.Fatal(err, m.Skipped)
	}
	return m
}

func sidecars(t interface{ Fatal(...any) }, dir string) []string {
	list, err := filepath.Glob(filepath.Join(dir, "*.sidecar"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// spoil does to the sidecars what must not change an answer.
func (d drawn) spoil(t *rapid.T) {
	for _, path := range sidecars(t, d.dir) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch rapid.IntRange(0, 6).Draw(t, "spoil") {
		case 0:
			data = data[:rapid.IntRange(0, len(data)-1).Draw(t, "cut")]
		case 1:
			data[rapid.IntRange(0, len(data)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		case 2:
			other := rapid.SampledFrom(sidecars(t, d.dir)).Draw(t, "other")
			if data, err = os.ReadFile(other); err != nil {
				t.Fatal(err)
			}
		case 3:
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			continue
		default:
			continue
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLaw: a search gives what a reading of the whole record gives, in its order, whatever
// the sidecars are.
func TestLaw(t *testing.T) {
	root := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		dir := filepath.Join(root, fmt.Sprint(n))
		d := drawRecord(t, dir)
		if rapid.Bool().Draw(t, "index last") {
			d.make(t)
		}
		d.spoiled = rapid.Bool().Draw(t, "spoil")
		if d.spoiled {
			d.spoil(t)
		}
		r, err := record.OpenReader(dir, d.o)
		if err != nil {
			t.Fatal(err)
		}
		var all []record.Event
		for e, err := range r.Events(record.Query{}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		for range 4 {
			q := Query{Query: drawQuery(t, all)}
			d.facts(t, all, q.Query)
			d.entries(t, r, q.Query)
			keep := func(*record.Event) bool { return true }
			switch rapid.IntRange(0, 3).Draw(t, "search") {
			case 0:
				q.Pattern = drawPattern(t)
				keep = func(e *record.Event) bool {
					s := recordsearch.Search{Pattern: q.Pattern, In: recordsearch.Any, Found: func(recordsearch.Match) {}}
					return s.Event(e)
				}
				q.Limit = 0
			case 1:
				q.IDs = []string{rapid.SampledFrom([]string{"x-1", "x-2", "session-1", "session-2", "id-1", "run-1", "none"}).Draw(t, "id")}
				runs := map[string]bool{}
				keep = func(e *record.Event) bool { return hasID(e, q.IDs[0], runs) }
				q.Limit = 0
				q.Types = nil // a run is found by its start
				q.Query = record.Query{After: 0}
			}
			want := selectedOf(all, &q.Query, keep)
			s, err := Open(dir, d.o)
			if err != nil {
				t.Fatal(err)
			}
			if runs := map[string]bool{}; len(q.IDs) > 0 {
				keep = func(e *record.Event) bool { return hasID(e, q.IDs[0], runs) }
			}
			var got []uint64
			for e, err := range s.Events(q) {
				if err != nil {
					t.Fatal(err)
				}
				if keep(&e) {
					got = append(got, e.Seq)
				}
			}
			if !d.spoiled && len(q.IDs) == 0 {
				back := q.Query
				back.Limit, back.Skip = 0, s.Skipper(q).Skip
				var seqs []uint64
				for g, err := range r.Back(back, 1<<20) {
					if err != nil {
						t.Fatal(err)
					}
					if keep(&g.Event) {
						seqs = append(seqs, g.Seq)
					}
				}
				slices.Reverse(seqs)
				whole := q.Query
				whole.Limit = 0
				if want := selectedOf(all, &whole, keep); !slices.Equal(seqs, want) {
					t.Fatalf("%+v gives %v backwards, want %v", q, seqs, want)
				}
			}
			if r := s.Report(); !d.spoiled && r.Stale+r.NoKey > 0 {
				t.Fatalf("%+v: a sidecar was not used: %v", q, r)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%+v gives %v, want %v; %v", q, got, want, s.Report())
			}
		}
		os.RemoveAll(dir)
	})
}

func selectedOf(all []record.Event, q *record.Query, keep func(*record.Event) bool) (want []uint64) {
	n := 0
	for i := range all {
		if !q.Matches(&all[i]) || q.Limit > 0 && n == q.Limit {
			continue
		}
		n++
		if keep(&all[i]) {
			want = append(want, all[i].Seq)
		}
	}
	return want
}

// hasID is what sotto record show --id shows.
func hasID(e *record.Event, id string, runs map[string]bool) bool {
	if slices.Contains(identifiers(e), id) {
		if e.Type != record.TypeRunStart {
			return true
		}
		runs[e.Run] = true
	}
	base := baseRun(e.Run)
	return base != "" && (base == id || e.Run == id || runs[base] || runs[e.Run])
}

// entries compares a list with that of the reader.
func (d drawn) entries(t *rapid.T, r *record.Reader, q record.Query) {
	s, err := Open(d.dir, d.o)
	if err != nil {
		t.Fatal(err)
	}
	collect := func(entries iter.Seq2[record.Entry, error]) (list []string) {
		for e, err := range entries {
			list = append(list, fmt.Sprint(e, err))
			if err != nil {
				break
			}
		}
		return list
	}
	if want, got := collect(r.Entries(q)), collect(s.Entries(q)); !slices.Equal(got, want) {
		t.Fatalf("%+v lists\n%v\nwant\n%v", q, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// facts compares the facts of a store with those of the events.
func (d drawn) facts(t *rapid.T, all []record.Event, q record.Query) {
	want := Want{Numbers: []Number{Time, Millis, Input, ThoughtBytes, Session, SavedBytes}, Words: []Word{Type, Model, Codes, Outcome, Tools, Caller}}
	s, err := Open(d.dir, d.o)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	next := func() *Facts {
		for ; n < len(all); n++ {
			if q.Matches(&all[n]) {
				f := FactsOf(&all[n])
				n++
				return &f
			}
		}
		return nil
	}
	given := 0
	for got, err := range s.Facts(q, want) {
		if err != nil {
			t.Fatal(err)
		}
		given++
		f := next()
		if f == nil {
			t.Fatalf("%+v gives event %d too", q, got.Number[Seq])
		}
		for _, k := range append(want.Numbers, Seq) {
			if got.Number[k] != f.Number[k] {
				t.Fatalf("event %d has %s %d, want %d", f.Number[Seq], numberNames[k], got.Number[k], f.Number[k])
			}
		}
		for _, k := range want.Words {
			if got.Word[k] != f.Word[k] {
				t.Fatalf("event %d has %s %q, want %q", f.Number[Seq], wordNames[k], got.Word[k], f.Word[k])
			}
		}
	}
	if r := s.Report(); !d.spoiled && r.Stale+r.NoKey > 0 {
		t.Fatalf("%+v: a sidecar was not used: %v", q, r)
	}
	if f := next(); f != nil && (q.Limit == 0 || given < q.Limit) {
		t.Fatalf("%+v gives %d events, and not event %d", q, given, f.Number[Seq])
	}
}
