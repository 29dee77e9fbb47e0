package sotto_test

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// preOpening returns the shipped dialects whose prompts open the reasoning, each
// with the first close of that reasoning.
func preOpening(t *testing.T) map[string]string {
	t.Helper()
	closes := map[string]string{}
	for _, d := range dialect.All() {
		if d.PreOpens != dialect.PreOpensYes {
			continue
		}
		i := slices.IndexFunc(d.Markers, func(m dialect.Marker) bool { return m.Role == dialect.RoleReasoning })
		if i < 0 {
			t.Fatalf("%s: no marker of reasoning", d.Name)
		}
		if m := d.Markers[i]; m.Tag != "" {
			closes[d.Name] = "</" + m.Tag + ">"
		} else {
			closes[d.Name] = m.Close[0]
		}
	}
	if len(closes) < 5 {
		t.Fatalf("%d dialects pre-open", len(closes))
	}
	return closes
}

// In the dialects whose prompts open the reasoning, a thought that the prompt opened
// leaks through no stream whose caller passes no start. The whole reading agrees.
func TestPreOpenedStreams(t *testing.T) {
	for name, end := range preOpening(t) {
		g := mustNamed(name)
		raw := "The secret.\n" + end + "\n\nThe answer."
		whole, err := g.Parse(raw, "", sotto.EndStopped)
		if err != nil {
			t.Fatal(err)
		}
		if whole.Start != sotto.BeginAuto || whole.Visible() != "The answer." {
			t.Errorf("%s: whole from %s: %q", name, whole.Start, whole.Visible())
		}
		for cut := range len(raw) + 1 {
			list := []string{raw[:cut], raw[cut:]}
			var filtered strings.Builder
			f, err := g.NewFilter(sotto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			f.OnText = func(text string) { filtered.WriteString(text) }
			for _, delta := range list {
				f.Feed(delta)
			}
			f.Close(sotto.EndStopped)
			var events, written strings.Builder
			for ev, err := range g.Events(streamOf(list...), sotto.StreamOptions{}) {
				if err != nil {
					t.Fatal(err)
				}
				if v, ok := ev.(sotto.VisibleDelta); ok {
					events.WriteString(v.Text)
				}
			}
			w, err := g.NewWriter(&written, sotto.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, delta := range list {
				if _, err := io.WriteString(w, delta); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			r, err := g.NewReader(io.MultiReader(strings.NewReader(list[0]), strings.NewReader(list[1])), sotto.StreamOptions{})
			if err != nil {
				t.Fatal(err)
			}
			read, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			for adapter, got := range map[string]string{"Filter": filtered.String(), "Events": events.String(), "Writer": written.String(), "Reader": string(read)} {
				if got != "The answer." {
					t.Errorf("%s, cut at %d: %s gives %q", name, cut, adapter, got)
				}
			}
		}
	}
}

// The defaults and their prices, as doc.go states them.
func TestDefaultStart(t *testing.T) {
	for _, d := range dialect.All() {
		want := "outside"
		if d.PreOpens == dialect.PreOpensYes {
			want = "auto"
		}
		if d.Start != "" {
			want = d.Start
		}
		if got := mustNamed(d.Name).Dialect().Start; got != want {
			t.Errorf("%s, pre_opens %q: replies begin %s, want %s", d.Name, d.PreOpens, got, want)
		}
	}
	own := dialect.Dialect{Name: "own", PreOpens: dialect.PreOpensYes, Start: "outside", Markers: []dialect.Marker{{Role: dialect.RoleReasoning, Tag: "think"}}}
	if got := sotto.MustCompile(own).Dialect().Start; got != "outside" {
		t.Errorf("a start of the dialect's own becomes %s", got)
	}

	const most = 200
	plain := strings.Repeat("A text without a marker. ", 20)
	g := mustNamed("deepseek_r1")
	show := func(g *sotto.Grammar, raw string, o sotto.Options) (early, all string, s *sotto.Splitter) {
		s, err := g.NewSplitter(o)
		if err != nil {
			t.Fatal(err)
		}
		for i := range len(raw) {
			for _, p := range s.FeedString(raw[i : i+1]) {
				early += string(p.Visible)
			}
		}
		all = early
		for _, p := range s.Close(sotto.EndStopped) {
			all += string(p.Visible)
		}
		return early, all, s
	}
	for _, c := range []struct {
		what       string
		g          *sotto.Grammar
		raw        string
		o          sotto.Options
		early, all string
		code       sotto.Code // what is found, if anything
	}{
		{"text without a marker comes at the end", g, plain[:most-1], sotto.Options{MaxHold: most}, "", plain[:most-1], ""},
		{"longer than MaxHold it is withheld", g, plain, sotto.Options{MaxHold: most}, "", "", sotto.CodeHoldExpired},
		{"a caller who knows pays nothing", g, plain, sotto.Options{MaxHold: most, Start: sotto.BeginOutside}, plain, plain, ""},
		{"an opener settles it", g, "<think>a</think>b", sotto.Options{}, "b", "b", ""},
		{"the default dialect cannot see it", sotto.Default(), "a</think>b", sotto.Options{}, "a</think>b", "a</think>b", sotto.CodeOrphanClose},
	} {
		early, all, s := show(c.g, c.raw, c.o)
		if early != c.early || all != c.all {
			t.Errorf("%s: %q before the end, %q in all", c.what, early, all)
		}
		if c.code != "" && s.Counts()[c.code] != 1 {
			t.Errorf("%s: found %v", c.what, s.Counts())
		}
	}
}

// The thought before an orphan close is block 1, the close included. The next block
// is block 2 (G8).
func TestOrphanBlocksAreNumbered(t *testing.T) {
	r, err := sotto.Default().Parse("a</think>b<think>c</think>", sotto.BeginAuto, sotto.EndStopped)
	if err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, sg := range r.Segments {
		got = append(got, sg.Block)
	}
	if want := []int{1, 1, 0, 2, 2, 2}; !slices.Equal(got, want) {
		t.Errorf("the blocks are %v, want %v", got, want)
	}
}
