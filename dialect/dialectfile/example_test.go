package dialectfile_test

import (
	"fmt"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect/dialectfile"
)

// A dialect from a file, compiled.
func ExampleParse() {
	list, err := dialectfile.Parse([]byte(`{
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
