package solve

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// A Price is what a model's tokens cost, per million.
type Price struct {
	Input  float64 `yaml:"input"`
	Output float64 `yaml:"output"`
}

func (p *Price) of(input, output int64) float64 {
	return (p.Input*float64(input) + p.Output*float64(output)) / 1e6
}

// Prices are those of models, by their names.
type Prices map[string]Price

// ReadPrices reads a file of prices, YAML or JSON, in any one currency:
//
//	qwen3:8b: {input: 0, output: 0}
//	gpt-4o-mini: {input: 0.15, output: 0.60} # per million tokens
func ReadPrices(data []byte) (Prices, error) {
	var raw map[string]struct {
		Input  *float64 `yaml:"input"`
		Output *float64 `yaml:"output"`
	}
	if err := yaml.UnmarshalWithOptions(data, &raw, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	prices := Prices{}
	for name, p := range raw {
		if p.Input == nil || p.Output == nil || !payable(*p.Input) || !payable(*p.Output) {
			return nil, fmt.Errorf("prices: model %q: want input and output, per million tokens, each a number and not below 0", name)
		}
		prices[name] = Price{*p.Input, *p.Output}
	}
	return prices, nil
}

// payable is false also of NaN, which is neither below 0 nor above.
func payable(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

// Of returns the price of a model. One that is not there is an error: it does not
// cost nothing.
func (p Prices) Of(name string) (*Price, error) {
	if price, ok := p[name]; ok {
		return &price, nil
	}
	return nil, fmt.Errorf("no price of model %q; the prices are of %s", name, strings.Join(slices.Sorted(maps.Keys(p)), ", "))
}
