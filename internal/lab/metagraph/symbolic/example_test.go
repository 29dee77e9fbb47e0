package symbolic_test

import (
	"fmt"
	"log"

	"github.com/sotto-llm/sotto/internal/lab/metagraph/symbolic"
)

// A solved game becomes a template, and the template solves another game.
func Example() {
	t, err := symbolic.Abstract("(8-5)*(11-3)")
	if err != nil {
		log.Fatal(err)
	}
	game := []int64{1, 4, 7, 9} // in ascending order
	fmt.Println(t, t.Makes(game, 24), t.Fill(game))
	// Output: (d-a)*(c-b) true (9-1)*(7-4)
}
