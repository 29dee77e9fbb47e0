package solve

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/yamlfile"
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
	n, err := yamlfile.Read(data)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	prices := Prices{}
	if n == nil {
		return prices, nil
	}
	if n.Kind != yamlfile.Mapping {
		return nil, faultAt(n, "want models with their prices, not %s", n.Kind)
	}
	for _, m := range n.Members {
		name := m.Key.Text
		if _, twice := prices[name]; twice {
			return nil, faultAt(m.Key, "model %q stands twice", name)
		}
		price, err := readPrice(name, m.Value)
		if err != nil {
			return nil, err
		}
		prices[name] = price
	}
	return prices, nil
}

// readPrice reads the price of one model.
func readPrice(name string, n *yamlfile.Node) (price Price, err error) {
	seen := map[string]bool{}
	for _, m := range n.Members {
		x, err := number(m.Value)
		switch {
		case m.Key.Text != "input" && m.Key.Text != "output":
			return price, faultAt(m.Key, "model %q: unknown key %q: there are input and output", name, m.Key.Text)
		case seen[m.Key.Text]:
			return price, faultAt(m.Key, "model %q: %s stands twice", name, m.Key.Text)
		case err != nil || !payable(x):
			return price, faultAt(m.Value, "model %q: %s: want a number per million tokens, not below 0", name, m.Key.Text)
		case m.Key.Text == "input":
			price.Input = x
		default:
			price.Output = x
		}
		seen[m.Key.Text] = true
	}
	if len(seen) < 2 {
		return price, faultAt(n, "model %q: want input and output, per million tokens, each a number and not below 0", name)
	}
	return price, nil
}

func number(n *yamlfile.Node) (float64, error) {
	if n.Kind != yamlfile.Int && n.Kind != yamlfile.Float {
		return 0, errors.New("not a number")
	}
	return strconv.ParseFloat(n.Text, 64)
}

func faultAt(n *yamlfile.Node, format string, args ...any) error {
	return fmt.Errorf("prices: line %d, column %d: %w", n.Line, n.Column, fmt.Errorf(format, args...))
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
