package runview

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lexical"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/trace"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/record"
)

const (
	// maxPairs is how many cycles of two runs stand beside each other.
	maxPairs = 50
	// maxSettings bounds the settings that are compared, and maxSetting one of them.
	maxSettings     = 200
	maxSettingBytes = 256 << 10
)

// A Comparison is two runs side by side.
type Comparison struct {
	V int `json:"v"`
	A Run `json:"a"`
	B Run `json:"b"`
	// Settings are those in which the runs differ.
	Settings     []Setting `json:"settings"`
	MoreSettings int       `json:"more_settings,omitempty"`
	// Unknown says that the record has no settings of one of the runs, or too many.
	Unknown bool `json:"settings_unknown,omitempty"`
	// Parting is where they first differ, step by step; nil if they do not.
	Parting *trace.Parting `json:"parting,omitempty"`
	// FailedA and FailedB are the last steps that failed in each run.
	FailedA []*trace.Step `json:"failed_a,omitempty"`
	FailedB []*trace.Step `json:"failed_b,omitempty"`
	// Cycles are those that at least one of the runs has, the first ones.
	Cycles     []Pair `json:"cycles"`
	MoreCycles int    `json:"more_cycles,omitempty"`
	// Differ is the first cycle of both runs whose reflections differ.
	Differ  *int   `json:"differ,omitempty"`
	Partial bool   `json:"partial,omitempty"`
	Head    uint64 `json:"head"`
}

// A Setting has a value in each of two runs; "" if one has none.
type Setting struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// A Pair is a cycle in two runs.
type Pair struct {
	Cycle int   `json:"cycle"`
	A     *Half `json:"a,omitempty"`
	B     *Half `json:"b,omitempty"`
	// Similar is the lexical similarity of the two reflections, if both have one.
	Similar *float64 `json:"similar,omitempty"`
	Same    bool     `json:"same,omitempty"` // byte for byte
}

// A Half is a cycle in one of two runs.
type Half struct {
	Reflection
	Millis  int64           `json:"ms"`
	Metrics *record.Metrics `json:"metrics,omitempty"`
	whole   string
}

// Compare puts two runs side by side, from a cycle on.
func (s *Source) Compare(ctx context.Context, a, b string, from int) (*Comparison, error) {
	_, one, configA, err := s.one(ctx, a)
	if err != nil {
		return nil, err
	}
	_, other, configB, err := s.one(ctx, b)
	if err != nil {
		return nil, err
	}
	c := &Comparison{V: 1, A: *one, B: *other, Settings: []Setting{}, Cycles: []Pair{}}
	if last, err := s.store.Last(); err == nil {
		c.Head = last
	}
	c.settings(configA, configB)
	if err := s.part(ctx, c, a, b); err != nil {
		return nil, err
	}
	pairs := map[int]*Pair{}
	for i, name := range []string{a, b} {
		cut, err := s.halves(ctx, name, from, func(cycle int, h *Half) {
			p := pairs[cycle]
			if p == nil {
				p = &Pair{Cycle: cycle}
				pairs[cycle] = p
			}
			if i == 0 {
				p.A = h
			} else {
				p.B = h
			}
		})
		if err != nil {
			return nil, err
		}
		c.Partial = c.Partial || cut
	}
	cycles := slices.Sorted(maps.Keys(pairs))
	c.MoreCycles = max(0, len(cycles)-maxPairs)
	for _, n := range cycles[:min(len(cycles), maxPairs)] {
		p := pairs[n]
		p.compare()
		if c.Differ == nil && p.Similar != nil && !p.Same {
			first := n
			c.Differ = &first
		}
		c.Cycles = append(c.Cycles, *p)
	}
	return c, nil
}

// part finds where two runs part, and what failed in them. Of long runs, only the newest
// steps are compared.
func (s *Source) part(ctx context.Context, c *Comparison, a, b string) error {
	all := Window{From: math.MinInt, To: math.MaxInt}
	one, err := s.Trace(ctx, a, all)
	if err != nil {
		return err
	}
	other, err := s.Trace(ctx, b, all)
	if err != nil {
		return err
	}
	c.Parting = trace.Part(one.Steps, other.Steps)
	c.Partial = one.Older > 0 || other.Older > 0
	c.FailedA, c.FailedB = lastFailures(one.Steps), lastFailures(other.Steps)
	return nil
}

// maxFailures is how many failures of a run are beside those of another.
const maxFailures = 3

func lastFailures(list []trace.Step) []*trace.Step {
	failed := trace.Failures(list)
	return failed[max(0, len(failed)-maxFailures):]
}

func (p *Pair) compare() {
	if p.A == nil || p.B == nil {
		return
	}
	p.Same = p.A.whole == p.B.whole
	v := 1.0
	if !p.Same {
		v = likeness(lexical.Groups(p.A.whole), lexical.Groups(p.B.whole))
	}
	p.Similar = &v
}

// maxHalves bounds the cycles of a run that are kept to be compared: the first ones
// after a cycle are wanted, and reading begins at the last.
const maxHalves = 2000

// halves visits the ends of cycles. Only texts that are short enough are kept whole.
func (s *Source) halves(ctx context.Context, name string, from int, visit func(cycle int, h *Half)) (cut bool, err error) {
	var read reading
	n := 0
	q := record.Query{Run: name, Types: []record.Type{record.TypeCycleEnd}}
	cut, err = s.back(ctx, q, &read, func(g *record.Glimpse) bool {
		x, ok := g.Event.Payload.(record.CycleEnd)
		if !ok || g.Event.Cycle < from {
			return true
		}
		n++
		visit(g.Event.Cycle, &Half{
			Reflection: reflectionOf(&g.Event, &x, maxGlance), Millis: max(0, x.Millis), Metrics: x.Metrics,
			whole: strings.Clone(shorttext.Cut(string(x.Summary.Text), maxText)),
		})
		return n < maxHalves
	})
	return cut || n == maxHalves, err
}

// settings finds the settings in which two runs differ.
func (c *Comparison) settings(a, b map[string]string) {
	x, okA := flat(a)
	y, okB := flat(b)
	if !okA || !okB {
		c.Unknown = true
		return
	}
	names := maps.Clone(x)
	maps.Copy(names, y)
	for _, name := range sortedNames(names) {
		if x[name] == y[name] {
			continue
		}
		if len(c.Settings) == maxSettings {
			c.MoreSettings++
			continue
		}
		c.Settings = append(c.Settings, Setting{shorttext.Cut(name, maxName), shorttext.Cut(x[name], maxGlance), shorttext.Cut(y[name], maxGlance)})
	}
}

// flat returns the settings of a run, those of an experiment one by one.
func flat(config map[string]string) (list map[string]string, ok bool) {
	if len(config) == 0 {
		return nil, false
	}
	list = map[string]string{}
	for name, value := range config {
		switch name {
		case "sha256": // of the experiment
		case "experiment":
			data := []byte(value)
			if len(data) > maxSettingBytes || foreignjson.Check(data) != nil {
				return nil, false
			}
			var v any
			if json.Unmarshal(data, &v) != nil {
				return nil, false
			}
			flatten(list, "", v)
		default:
			list[name] = value
		}
	}
	return list, true
}

// flatten lists values by their paths. Paths are cut, so that many of them fit into
// memory however deep they are.
func flatten(into map[string]string, path string, v any) {
	path = shorttext.Cut(path, maxName)
	switch x := v.(type) {
	case map[string]any:
		for name, value := range x {
			flatten(into, strings.TrimPrefix(path+"."+name, "."), value)
		}
	case []any:
		for i, value := range x {
			flatten(into, fmt.Sprintf("%s.%d", path, i), value)
		}
	case nil:
	case float64:
		into[path] = strconv.FormatFloat(x, 'f', -1, 64)
	default:
		into[path] = fmt.Sprint(x)
	}
}
