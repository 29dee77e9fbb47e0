package sotto

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/base/spelling"
)

//go:embed dialects.json
var dialectsJSON []byte

// shipped is the file of dialects that comes with the package. It is the project's
// own data, so a fault in it is a fault of the program.
var shipped = sync.OnceValue(func() []Dialect {
	list, err := ReadDialects(dialectsJSON)
	if err != nil {
		panic("sotto: dialects.json: " + err.Error())
	}
	return list
})

// grammars holds what [Named] compiled, by name.
var grammars sync.Map

// Dialects returns the dialects that come with the package, in the order of
// their file. The caller may change the result.
func Dialects() []Dialect {
	list := slices.Clone(shipped())
	for i := range list {
		list[i] = list[i].clone()
	}
	return list
}

func (d Dialect) clone() Dialect {
	d.Sources, d.Models, d.Markers = slices.Clone(d.Sources), slices.Clone(d.Models), slices.Clone(d.Markers)
	for i := range d.Markers {
		m := &d.Markers[i]
		m.Open, m.Close = slices.Clone(m.Open), slices.Clone(m.Close)
	}
	for _, sw := range []**bool{&d.Code, &d.Stray} {
		if *sw != nil {
			on := **sw
			*sw = &on
		}
	}
	if d.Header != nil {
		h := *d.Header
		for _, l := range []*[]string{&h.Begin, &h.Lead, &h.Body, &h.End, &h.Close, &h.Name, &h.Tokens} {
			*l = slices.Clone(*l)
		}
		h.Channels, h.Recipients = maps.Clone(h.Channels), maps.Clone(h.Recipients)
		d.Header = &h
	}
	return d
}

// An UnknownDialectError is what [Named] returns if no dialect has the name.
type UnknownDialectError struct {
	Name    string
	Nearest string // the name that was probably meant, or ""
}

func (e *UnknownDialectError) Error() string {
	if e.Nearest == "" {
		return fmt.Sprintf("unknown dialect %q", e.Name)
	}
	return fmt.Sprintf("unknown dialect %q: did you mean %q?", e.Name, e.Nearest)
}

// Named returns the grammar of a dialect that comes with the package. It is
// compiled once and shared. If the name is unknown, the error is an
// [*UnknownDialectError].
func Named(name string) (*Grammar, error) {
	if g, ok := grammars.Load(name); ok {
		return g.(*Grammar), nil
	}
	names := make([]string, 0, len(shipped()))
	for _, d := range shipped() {
		if d.Name != name {
			names = append(names, d.Name)
			continue
		}
		g, err := Compile(d.clone())
		if err != nil {
			return nil, err
		}
		kept, _ := grammars.LoadOrStore(name, g)
		return kept.(*Grammar), nil
	}
	return nil, &UnknownDialectError{Name: name, Nearest: spelling.Nearest(name, names)}
}

// Default returns the grammar of the dialect named "default", which reads the
// tags that prompts and models use most. A stream in it begins outside unless
// [Options] say otherwise. Such a stream cannot see that the prompt opened a block,
// and gives a thought that began there as text. If you know the model, use [ForModel].
func Default() *Grammar { return mustNamed("default") }

// mustNamed is for names that are known to be in dialects.json.
func mustNamed(name string) *Grammar {
	g, err := Named(name)
	if err != nil {
		panic("sotto: " + err.Error())
	}
	return g
}

// ForModel returns the grammar for a model's name as a provider or a registry
// spells it: "qwen3:8b", "deepseek-ai/DeepSeek-R1-0528",
// "hf.co/unsloth/Qwen3-30B-A3B-Thinking-2507-GGUF:Q4_K_M". If several patterns of
// the dialects match, the one with the most bytes besides its stars wins. If none
// matches, the result is [Default], and known is false.
//
// A name says which markers to look for. It does not prove where a reply begins:
// the same model pre-opens its reasoning on one route and not on another. If all
// templates of a family pre-open, its replies are read from [StartAuto] unless the
// caller passes a start.
func ForModel(model string) (g *Grammar, known bool) {
	list := shipped()
	if i := bestRow(list, model); i >= 0 {
		return mustNamed(list[i].Name), true
	}
	return Default(), false
}

// bestRow returns the index of the dialect whose pattern fits a model's name
// best, or -1.
func bestRow(list []Dialect, model string) int {
	best, most, name := -1, 0, modelname.Normal(model)
	for i := range list {
		if n := modelname.MatchNormal(list[i].Models, name); n > most {
			best, most = i, n
		}
	}
	return best
}

func checkModelPattern(p string) error {
	switch {
	case strings.Trim(p, "*") == "":
		return errors.New("matches every model: write part of a name")
	case p != strings.ToLower(p):
		return fmt.Errorf("%q has upper-case letters: names are matched in lower case", p)
	case strings.ContainsAny(p, "/:@ \t\r\n"):
		return fmt.Errorf("%q: leave out the registry path, and write a hyphen for : and @", p)
	}
	return nil
}
