// Package prices reads what the tokens of models cost.
package prices

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// A Price is what a model's tokens cost, per million.
type Price struct{ Input, Output float64 }

// Of returns what tokens cost.
func (p *Price) Of(input, output int64) float64 {
	return (p.Input*float64(input) + p.Output*float64(output)) / 1e6
}

// Prices are the prices of models, by model name.
type Prices map[string]Price

// Read reads a file of prices, YAML or JSON, in any one currency:
//
//	qwen3:8b: {input: 0, output: 0}
//	gpt-4o-mini: {input: 0.15, output: 0.60} # per million tokens
//
// The error joins all faults, each with its place in the file of that name.
func Read(name string, data []byte) (Prices, error) {
	d := yamlfile.Document{Name: name}
	prices := Prices{}
	if n := d.Read(data); n != nil {
		d.Keys(n, "", func(key *yamlfile.Node, path string, value *yamlfile.Node) {
			prices[key.Text] = readPrice(&d, value, path)
		})
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	return prices, nil
}

// readPrice reads the price of one model.
func readPrice(d *yamlfile.Document, n *yamlfile.Node, path string) Price {
	var row struct {
		Input  *float64 `yaml:"input"`
		Output *float64 `yaml:"output"`
	}
	before := len(d.Faults)
	d.Decode(n, path, &row)
	price := func(key string, x *float64) float64 {
		switch {
		case len(d.Faults) > before:
		case x == nil:
			d.Fault(n, path, "want input and output: %s is missing", key)
		case !payable(*x):
			d.FaultAt(yamlfile.Join(path, key), "want a number per million tokens, not below 0")
		default:
			return *x
		}
		return 0
	}
	return Price{Input: price("input", row.Input), Output: price("output", row.Output)}
}

// payable is also false for NaN, which compares neither below nor above 0.
func payable(x float64) bool { return x >= 0 && !math.IsInf(x, 1) }

// Of returns the price of a model. An unknown model is an error, because its price
// is not zero.
func (p Prices) Of(name string) (*Price, error) {
	if price, ok := p[name]; ok {
		return &price, nil
	}
	return nil, fmt.Errorf("model %q has no price; the price file has %s", name, strings.Join(slices.Sorted(maps.Keys(p)), ", "))
}
