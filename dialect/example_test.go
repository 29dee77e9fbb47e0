package dialect_test

import (
	"fmt"

	"github.com/sotto-llm/sotto/dialect"
)

// What is known about a model, as data.
func ExampleForModel() {
	d, known := dialect.ForModel("deepseek-ai/DeepSeek-R1-0528")
	fmt.Println(d.Name, known, d.PreOpens, d.Markers[0].Block())
	// Output: deepseek_r1 true yes think
}
