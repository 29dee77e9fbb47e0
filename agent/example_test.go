package agent_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/model"
)

// A model answers a message with the help of a tool. What it thinks reaches
// nobody.
func ExampleTurn_Converse() {
	script, err := model.ReadScript(strings.NewReader(`
- when: {step: 1}
  text: "<think>I need the clock.</think>"
  calls: [{name: clock}]
- text: "<think>Past noon.</think>It is half past two."
`), "script.yaml")
	if err != nil {
		log.Fatal(err)
	}
	turn := agent.Turn{
		Model: model.NewScripted("", script),
		Tools: []agent.Tool{&agent.Func{
			Name: "clock", Description: "What time it is.",
			Do: func(context.Context, agent.Use) (string, error) { return "14:30", nil },
		}},
		Observer: agent.Observer{OnToolStart: func(u agent.Use) { fmt.Println("calls", u.Name) }},
	}
	outcome, err := turn.Converse(context.Background(), []model.Message{{Role: model.User, Text: "What time is it?"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.Status, outcome.Answer)
	// Output:
	// calls clock
	// answered It is half past two.
}
