package honest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/effort"
)

// The replies of models that do not think.
var plainAnswers = []struct{ name, text string }{
	{"short", "Four."},
	{"prose", "Two and two are four.\n\nThat is so in every base above four, because addition does not depend on how numbers are written."},
	{"code", "```go\nfunc add(a, b int) int {\n\tif a < b {\n\t\ta, b = b, a\n\t}\n\treturn a + b // a<b\n}\n```\nCall `add(2, 2)`."},
	{"JSON", `{"answer": 4, "steps": ["2+2"], "html": "<b>4</b>"}`},
}

// A sample is a reply that does not think, and how it was asked for.
type sample struct {
	world
	off    string // the tweak that switches thinking off, or ""
	asked  bool   // the server tells how its prompts end
	known  bool   // a dialect names the model
	how    string // what else the request has
	answer string
}

// groups are what the table of TestPrice has a row for.
func (s sample) group() string {
	what := "a model that never thinks"
	if s.off != "" {
		what = "thinking switched off"
	}
	if !s.known {
		what += ", unknown name"
	}
	where := "nothing can be asked"
	if s.asked {
		where = "the server can be asked"
	} else if s.Parser {
		where = "the server separates thoughts"
	}
	return what + ", " + where
}

// TestPrice counts the replies without a thought whose text a client did not get, or got
// as reasoning. Nothing is withheld under field and tags, and under hide nothing where the
// server can be asked.
func TestPrice(t *testing.T) {
	type count struct{ all, withheld, moved int }
	rows, hows := map[string]*count{}, map[string]*count{}
	add := func(m map[string]*count, key string, withheld, moved bool) {
		c := m[key]
		if c == nil {
			c = &count{}
			m[key] = c
		}
		c.all++
		if withheld {
			c.withheld++
		}
		if moved {
			c.moved++
		}
	}
	for _, d := range []routing.Display{routing.DisplayField, routing.DisplayTags, routing.DisplayHide} {
		for i, s := range samples(d) {
			if i%every() > 0 {
				continue
			}
			inContent, anywhere := s.look(t)
			withheld, moved := !anywhere, anywhere && !inContent
			add(rows, fmt.Sprintf("%-5s %s", d, s.group()), withheld, moved)
			add(hows, fmt.Sprintf("%-5s %s", d, s.how), withheld, moved)
			if withheld && (d != routing.DisplayHide || s.asked && s.world.Server != "ollama") { // Ollama shows a template, and renders none
				t.Errorf("%s withheld in %s", s.how, s.world)
			}
		}
	}
	for _, m := range []map[string]*count{rows, hows} {
		var b strings.Builder
		for _, key := range keysOf(m) {
			c := m[key]
			fmt.Fprintf(&b, "%-75s %5d replies, %5.1f %% withheld, %5.1f %% as reasoning\n", key, c.all, percent(c.withheld, c.all), percent(c.moved, c.all))
		}
		t.Logf("replies that do not think:\n%s", b.String())
	}
}

// every is which of the samples are played: one of so many. Their order repeats after
// powers of 2 and 5.
func every() int {
	switch {
	case effort.Brief():
		return 23
	case effort.Times() == 1:
		return 3
	}
	return 1
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(1, of)) }

func keysOf[T any](m map[string]T) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// samples are the replies of one display.
func samples(d routing.Display) (list []sample) {
	for _, k := range kinds {
		for _, f := range families {
			for _, api := range k.apis {
				off, ok := offOf(k, f, api)
				if !ok {
					continue
				}
				for i := range 2 * 2 * len(plainAnswers) {
					answer := plainAnswers[i/4]
					s := sample{
						world: world{
							Server: k.name, Model: f.model, Script: "plain", Display: d, NoAnswer: routing.NoAnswerError,
							Shows: i%2 == 1, Parser: i%4 >= 2,
						},
						off: off, known: !f.unknown, answer: answer.text,
					}
					if s.asked = s.Shows && k.shows != nil; !s.asked && s.Shows {
						continue // the same as without
					}
					list = append(list, s.variants(api, answer.name)...)
				}
			}
		}
	}
	return list
}

// offOf returns the tweak that switches thinking off, if there is one. ok is false for a
// model that thinks.
func offOf(k kind, f family, api string) (off string, ok bool) {
	switch {
	case f.open == "":
		return "", !named(api).raw
	case strings.HasPrefix(api, "ollama.") && f.kwarg != "":
		return "think=false", true
	case k.name != "ollama" && api == "chat" && slices.Contains([]string{"enable_thinking", "thinking"}, f.kwarg):
		return "kwargs " + f.kwarg + "=false", true
	}
	return "", false
}

// variants are the ways to ask for a reply: which members the request has, whole and
// streamed, in turn.
func (s sample) variants(api, answer string) (list []sample) {
	for i, how := range []string{"", "stop is the", `stop \n`, "tools", "limit 4"} {
		if how != "" && !tweakNamed(how).fits(named(api)) {
			continue
		}
		v := s
		q := request{Who: "bob", API: api, Stream: (i+len(answer))%2 == 0}
		for _, tw := range []string{s.off, how} {
			if tw != "" {
				q.Tweaks = append(q.Tweaks, tw)
			}
		}
		v.Requests = []request{q}
		v.how = map[bool]string{true: "streamed", false: "whole"}[q.Stream] + " " + strings.TrimSpace("plain "+how)
		list = append(list, v)
	}
	return list
}

// look reports whether a client got the first word of the answer as content, and whether
// it got it at all.
func (s sample) look(t *testing.T) (inContent, anywhere bool) {
	p := s.openWith(t, script{name: "plain", answer: s.answer})
	defer p.close()
	g := p.ask(s.Requests[0])
	expected := s.answer
	if i := strings.IndexAny(expected, " \n"); i > 0 {
		expected = expected[:i]
	}
	inContent = g.answered(expected)
	for _, text := range g.thought {
		anywhere = anywhere || strings.Contains(text, expected)
	}
	return inContent, anywhere || inContent || s.Display == routing.DisplayTags && strings.Contains(g.body, expected)
}
