package chatprobe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/check/probereply"
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
	body, _, err := p.do(http.MethodGet, "models", nil)
	if err != nil {
		return nil, err
	}
	v, err := foreignjson.Parse(body)
	if err != nil {
		return nil, err
	}
	var names []string
	v.Get("data").ForEach(func(_, m gjson.Result) bool {
		if id := m.Get("id").Str; id != "" {
			names = append(names, id)
		}
		return len(names) < 100
	})
	return names, nil
}

// sendLimited sends a request for a few tokens. Servers call the limit by one of two
// names, and some refuse the other.
func (p *prober) sendLimited(r request) (*probereply.Reply, error) {
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
func (p *prober) send(r request) (*probereply.Reply, error) {
	t := &turn.Request{Model: p.Model, Stream: r.stream, Messages: r.messages, Tools: r.tools, MaxName: p.limit}
	if r.limit > 0 {
		t.MaxTokens = json.Number(strconv.Itoa(r.limit))
	}
	body, err := openai.Chat.WriteTurn(nil, t)
	if err != nil {
		return nil, err
	}
	got, kind, err := p.do(http.MethodPost, "chat/completions", body)
	if err != nil {
		return nil, err
	}
	return probereply.Read(openai.Chat, probereply.Response{Kind: kind, Body: got}, r.stream), nil
}

// do makes a request within the time for one, and returns the body. A status other
// than 2xx is an error.
func (p *prober) do(method, path string, body []byte) ([]byte, string, error) {
	ctx, cancel := context.WithTimeout(p.ctx, p.Time)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, p.base.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := p.http.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	var all bytes.Buffer
	_, err = all.ReadFrom(res.Body) // within the bound of foreignhttp; of a stream that breaks off, what has come
	data := all.Bytes()
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, "", fmt.Errorf("status %d: %s", res.StatusCode, shorttext.Ellipsis(errorText(data), 200))
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil && kind != "text/event-stream" {
		return nil, "", err
	}
	return data, kind, nil
}

// errorText returns the message of an error of the server.
func errorText(body []byte) string {
	if v, err := foreignjson.Parse(body); err == nil {
		for _, path := range []string{"error.message", "message", "detail", "error"} {
			if m := v.Get(path); m.Type == gjson.String {
				return m.Str
			}
		}
	}
	return strings.TrimSpace(string(body[:min(len(body), 1000)]))
}
