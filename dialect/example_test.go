package dialect_test

import (
	"fmt"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
)

// A dialect from a file, compiled.
func ExampleParse() {
	list, err := dialect.Parse([]byte(`{
		"name": "planner",
		"markers": [{"role": "reasoning", "open": ["[PLAN]"], "close": ["[/PLAN]"]}]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := sotto.Compile(list[0])
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := g.Parse("[PLAN]Six times seven.[/PLAN]Forty-two.", sotto.BeginOutside, sotto.EndStopped)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Visible())
	// Output: Forty-two.
}

// What is known about a model, as data.
func ExampleForModel() {
	d, known := dialect.ForModel("deepseek-ai/DeepSeek-R1-0528")
	fmt.Println(d.Name, known, d.PreOpens, d.Markers[0].Block())
	// Output: deepseek_r1 true yes think
}
