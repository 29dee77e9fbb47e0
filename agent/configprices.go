package agent

import (
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/prices"
	"github.com/sotto-llm/sotto/model"
)

// prices reads what the models of the file cost. The prices are settings: a run that is
// resumed has those that it began with.
func (b *builder) prices(x *Experiment) {
	c := b.c
	b.currency()
	if c.Prices == "" {
		b.needsPrices()
		return
	}
	name := c.agentFile(c.Prices)
	data, err := files.Read("prices", name, files.MaxSettings)
	if err != nil {
		b.fault("prices", "%w", err)
		return
	}
	list, err := prices.Read(name, data)
	if err != nil {
		b.fault("prices", "%w", err)
		return
	}
	of, settings := map[string]*prices.Price{}, map[string]any{}
	for _, m := range b.opened {
		price, err := list.Of(m.Name())
		if err != nil {
			b.fault("prices", "%w: give a free model a price too: {input: 0, output: 0}", err)
			return
		}
		of[m.Name()], settings[m.Name()] = price, *price
	}
	x.Settings["prices"] = settings
	x.Currency = c.Currency
	x.Price = func(model string, input, output int64) (int64, bool) {
		price := of[model]
		if price == nil {
			return 0, false
		}
		return billionths(price.Of(input, output)), true
	}
}

// currency checks the name of the currency.
func (b *builder) currency() {
	switch name := b.c.Currency; {
	case name == "":
	case b.c.Prices == "":
		b.fault("currency", "needs prices: FILE")
	case !currencyName.MatchString(name):
		b.fault("currency", "%q: want 1 to 16 letters, such as EUR", name)
	}
}

// needsPrices reports limits of costs in a file without prices.
func (b *builder) needsPrices() {
	const why = "needs prices: FILE"
	if b.c.Limits.Cost > 0 {
		b.fault("limits.cost", why)
	}
	for i, a := range b.c.Agents {
		if a.Limits.Cost > 0 {
			b.fault(agentPath(i)+".limits.cost", why)
		}
	}
}

// opens notes a model that answers, whose tokens cost something.
func (b *builder) opens(m model.Model) {
	if m != nil {
		b.opened = append(b.opened, m)
	}
}
