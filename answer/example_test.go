package answer_test

import (
	"fmt"

	"github.com/sotto-llm/sotto/answer"
)

func Example() {
	raw := "<think>8-5 is 3, 11-2 is 9.</think>\n<answer>\n(8-5)*(11-2) = 24\n</answer>"
	p := answer.Problem{Input: "2 5 8 11"}
	x := answer.Extract(answer.Game24, raw, p, answer.Options{})
	v := answer.Game24.Validate(x.Candidate, p)
	fmt.Println(x.Candidate, x.Method, v.Reason, v.Detail)
	// Output: (8-5)*(11-2) answer_block math_error 27
}

func ExampleTask_distil() {
	query, trace := answer.Game24.Distil(answer.Problem{Input: "11 8 5 2"}, "(11-5)*8/2 = 24")
	fmt.Println(query)
	fmt.Println(trace)
	// Output:
	// Solve 24 with 2 5 8 11
	// Task: Game24
	// Input: 2 5 8 11
	// Solution: (11-5)*8/2
}
