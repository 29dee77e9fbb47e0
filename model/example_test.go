package model_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
)

func ExampleReadScript() {
	script, err := model.ReadScript(strings.NewReader(`
- when: {contains: prime}
  text: "<think>9 is 3 × 3.</think>No."
  cut: random:1
- text: I do not know.
`), "example.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	m := model.NewScripted("plain", script)
	reply, err := m.Invoke(context.Background(), model.Request{
		Messages: []model.Message{{Role: model.User, Text: "Is 9 prime?"}},
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sotto.Parse(reply.Raw, reply.End).Visible())
	// Output: No.
}
