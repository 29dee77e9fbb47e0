package dialect

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/base/spelling"
)

// The dialects that come with the package are written in dialects.json. A program has
// them as the Go values of table.go and notes.go, so that it need not read JSON for them.
//
//go:generate go run ./dialectfile/internal/table

// The switches of a dialect in the table point to this.
var on = true

// notes are what a dialect has for people. A small program is built without them.
type notes struct {
	Title         string
	Sources       []string
	PreOpensSince string
	Prompt        string
}

// All returns the dialects that come with the package, in the order of their file.
// The caller may change the result.
func All() []Dialect {
	list := slices.Clone(table)
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

// An UnknownError is what [Named] returns if no dialect has the name.
type UnknownError struct {
	Name    string
	Nearest string // the name that was probably meant, or ""
}

func (e *UnknownError) Error() string {
	if e.Nearest == "" {
		return "unknown dialect " + quote(e.Name)
	}
	return "unknown dialect " + quote(e.Name) + ": did you mean " + quote(e.Nearest) + "?"
}

// Named returns the dialect of a name that comes with the package. If there is none,
// the error is an [*UnknownError]. The caller may change the result.
func Named(name string) (Dialect, error) {
	list := table
	names := make([]string, len(list))
	for i, d := range list {
		if d.Name == name {
			return d.clone(), nil
		}
		names[i] = d.Name
	}
	return Dialect{}, &UnknownError{Name: name, Nearest: spelling.Nearest(name, names)}
}

// ForModel returns the dialect for a model's name as a provider or a registry
// spells it: "qwen3:8b", "deepseek-ai/DeepSeek-R1-0528",
// "hf.co/unsloth/Qwen3-30B-A3B-Thinking-2507-GGUF:Q4_K_M". If several patterns of
// the dialects match, the one with the most bytes besides its stars wins. If none
// matches, the result is the dialect named "default", and known is false.
//
// A name says which markers to look for. It does not prove where a reply begins:
// the same model pre-opens its reasoning on one route and not on another. If all
// templates of a family pre-open, its replies are read from Start "auto" unless the
// caller passes a start.
func ForModel(model string) (d Dialect, known bool) {
	list := table
	if i := bestRow(list, model); i >= 0 {
		return list[i].clone(), true
	}
	return list[0].clone(), false
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
		return errors.New(quote(p) + " has upper-case letters: names are matched in lower case")
	case strings.ContainsAny(p, "/:@ \t\r\n"):
		return errors.New(quote(p) + ": leave out the registry path, and write a hyphen for : and @")
	}
	return nil
}
