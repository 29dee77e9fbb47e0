package sotto

import (
	"sync"

	"github.com/sotto-llm/sotto/dialect"
)

// grammars holds what [Named] compiled, by name.
var grammars sync.Map

// Named returns the grammar of a dialect that comes with package dialect. It is
// compiled once and shared. If the name is unknown, the error is a
// [*dialect.UnknownError].
func Named(name string) (*Grammar, error) {
	if g, ok := grammars.Load(name); ok {
		return g.(*Grammar), nil
	}
	d, err := dialect.Named(name)
	if err != nil {
		return nil, err
	}
	g, err := compile(d) // a test checks the dialects of the package
	if err != nil {
		return nil, err
	}
	kept, _ := grammars.LoadOrStore(name, g)
	return kept.(*Grammar), nil
}

// Default returns the grammar of the dialect named "default", which reads the
// tags that prompts and models use most. A stream in it begins outside unless
// [Options] say otherwise. Such a stream cannot see that the prompt opened a block,
// and gives a thought that began there as text. If you know the model, use [ForModel].
func Default() *Grammar { return mustNamed("default") }

// mustNamed is for names of dialects that come with package dialect.
func mustNamed(name string) *Grammar {
	g, err := Named(name)
	if err != nil {
		panic("sotto: " + err.Error())
	}
	return g
}

// ForModel returns the grammar of the dialect that [dialect.ForModel] finds for a
// model's name as a provider or a registry spells it, such as "qwen3:8b". It is
// compiled once and shared. If no dialect is known for the model, the result is
// [Default], and known is false.
func ForModel(model string) (g *Grammar, known bool) {
	d, known := dialect.ForModel(model)
	return mustNamed(d.Name), known
}
