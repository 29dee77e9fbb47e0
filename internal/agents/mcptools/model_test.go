package mcptools

import (
	"context"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/model"
)

var ask = []model.Message{{Role: model.User, Text: "Go."}}

// A script calls one tool, and then is done.
type script struct{ name, arguments string }

func caller(name, arguments string) model.Model { return script{name, arguments} }

func (script) Name() string { return "script" }

func (s script) Invoke(_ context.Context, q model.Request, _ func(model.Delta) error) (model.Reply, error) {
	if q.Messages[len(q.Messages)-1].Role == model.User {
		return model.Reply{Calls: []model.Call{{ID: "a", Name: s.name, Arguments: s.arguments}}, End: sotto.EndStopped}, nil
	}
	return model.Reply{Raw: "Done.", End: sotto.EndStopped}, nil
}
