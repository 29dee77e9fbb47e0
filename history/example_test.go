package history_test

import (
	"fmt"
	"log"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/wire/openai"
)

// A program that sends its own requests: what this family of models thought earlier is
// taken out of the next request.
func ExamplePlanFor() {
	body := []byte(`{"model":"qwen3:8b","messages":[` +
		`{"role":"user","content":"Six times seven?"},` +
		`{"role":"assistant","content":"<think>42, surely.</think>Forty-two."},` +
		`{"role":"user","content":"And plus one?"}]}`)
	request, err := openai.Chat.Request(body)
	if err != nil {
		log.Fatal(err)
	}
	plan := history.PlanFor(request, history.Auto, history.Knowledge{}, openai.Chat)
	if plan.Changed() {
		if body, err = openai.Chat.Edit(nil, body, plan.Changes); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(plan)
	fmt.Println(string(body))
	// Output:
	// rule=qwen3-strip; removed=26 bytes (about 6 tokens); prefix changes at message 1
	// {"model":"qwen3:8b","messages":[{"role":"user","content":"Six times seven?"},{"role":"assistant","content":"Forty-two."},{"role":"user","content":"And plus one?"}]}
}
