package a2aserver_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/model"
)

// A model's reply becomes an artifact of its visible text.
func Example() {
	script, err := model.ReadScript(strings.NewReader(`{"text":"<think>6 × 7, easy.</think>Forty-two."}`), "script.jsonl")
	if err != nil {
		panic(err)
	}
	s, err := a2aserver.New(a2aserver.Config{Mind: &a2aserver.ChatMind{Model: model.NewScripted("demo", script)}})
	if err != nil {
		panic(err)
	}
	defer s.Close()
	web := httptest.NewServer(s)
	defer web.Close()

	ctx := context.Background()
	card, err := agentcard.NewResolver(web.Client()).Resolve(ctx, web.URL)
	if err != nil {
		panic(err)
	}
	client, err := a2aclient.NewFromCard(ctx, card, a2aclient.WithJSONRPCTransport(web.Client()))
	if err != nil {
		panic(err)
	}
	result, err := client.SendMessage(ctx, &a2a.SendMessageRequest{
		Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("What is 6 × 7?")),
	})
	if err != nil {
		panic(err)
	}
	task := result.(*a2a.Task)
	fmt.Println(task.Status.State, task.Artifacts[0].Parts[0].Text())
	// Output: TASK_STATE_COMPLETED Forty-two.
}
