package chatprobe

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/sotto-llm/sotto/internal/check/modelserver"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire/openai"
	"github.com/sotto-llm/sotto/wire/turn"
)

// A request is what is sent to the model.
type request struct {
	messages []turn.Message
	stream   bool
	limit    int // tokens; 0 for none
	tools    []turn.Tool
}

func says(role turn.Role, parts ...turn.Part) turn.Message {
	return turn.Message{Role: role, Parts: parts}
}

func user(text string) turn.Message { return says(turn.User, turn.Part{Text: text}) }

func result(id, text string) turn.Message {
	return says(turn.ToolRole, turn.Part{Kind: turn.Result, ID: id, Results: []turn.Part{{Text: text}}})
}

// weather is the tool that the model may call.
var weather = []turn.Tool{{
	Name: "get_weather", Description: "The weather in a city now.",
	Schema: `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`,
}}

// models lists the names of the server's models.
func (p *prober) models() ([]string, error) {
	res, err := p.do(http.MethodGet, "models", nil)
	if err != nil {
		return nil, err
	}
	if _, err := foreignjson.Parse(res.Body); err != nil {
		return nil, err
	}
	return res.Models(), nil
}

// sendLimited sends a request for a few tokens. Servers call the limit by one of two
// names, and some refuse the other.
func (p *prober) sendLimited(r request) (*modelserver.Reply, error) {
	r.limit = cutAfter
	if p.limit != "" {
		return p.send(r)
	}
	var refused error
	for _, p.limit = range []string{"max_tokens", "max_completion_tokens"} {
		got, err := p.send(r)
		if err == nil {
			return got, nil
		}
		refused = errors.Join(refused, err)
	}
	p.limit = ""
	return nil, refused
}

// send sends a request, and reads the reply.
func (p *prober) send(r request) (*modelserver.Reply, error) {
	t := &turn.Request{Model: p.Model, Stream: r.stream, Messages: r.messages, Tools: r.tools, MaxName: p.limit}
	if r.limit > 0 {
		t.MaxTokens = json.Number(strconv.Itoa(r.limit))
	}
	body, err := openai.Chat.WriteTurn(nil, t)
	if err != nil {
		return nil, err
	}
	res, err := p.do(http.MethodPost, "chat/completions", body)
	if err != nil {
		return nil, err
	}
	res.Broken = nil // a stream that lacks its end is found without it
	return modelserver.Read(openai.Chat, res, r.stream), nil
}

// do makes a request. A status other than 2xx is an error.
func (p *prober) do(method, path string, body []byte) (*modelserver.Response, error) {
	res, err := p.client.Do(p.ctx, method, p.base.JoinPath(path), nil, body)
	switch {
	case err != nil:
		return nil, err
	case !res.OK():
		return nil, fmt.Errorf("status %d: %s", res.Status, res.Said())
	case res.Broken != nil && res.Kind != "text/event-stream":
		return nil, res.Broken
	}
	return res, nil
}
