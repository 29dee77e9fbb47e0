package chatprobe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/foreignjson"
	"github.com/sotto-llm/sotto/internal/leak"
	"github.com/sotto-llm/sotto/internal/shorttext"
	"github.com/sotto-llm/sotto/sse"
)

// A request is what is sent to the model.
type request struct {
	messages messages
	stream   bool
	limit    int // tokens; 0 for none
	tools    any
}

type (
	message  = map[string]any
	messages = []message
)

func user(text string) message { return message{"role": "user", "content": text} }

func result(id, text string) message {
	return message{"role": "tool", "tool_call_id": id, "content": text}
}

// weather is the tool that the model may call.
var weather = []any{map[string]any{"type": "function", "function": map[string]any{
	"name": "get_weather", "description": "The weather in a city now.",
	"parameters": map[string]any{
		"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"},
	},
}}}

// A reply is what the model sent.
type reply struct {
	leak.Message
	finish string
	fault  string // of the form of the reply; "" if there is none
	calls  []call
	echo   message // the message as it is, to send it back
}

type call struct{ id, name, arguments string }

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
func (p *prober) sendLimited(r request) (*reply, error) {
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
func (p *prober) send(r request) (*reply, error) {
	body := map[string]any{"model": p.Model, "messages": r.messages, "stream": r.stream}
	if r.limit > 0 {
		body[p.limit] = r.limit
	}
	if r.tools != nil {
		body["tools"] = r.tools
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	got, kind, err := p.do(http.MethodPost, "chat/completions", data)
	if err != nil {
		return nil, err
	}
	if kind == "text/event-stream" {
		return readStream(got), nil
	}
	if r.stream {
		return &reply{fault: fmt.Sprintf("a stream was asked for, and the reply is %.100q", kind)}, nil
	}
	v, err := foreignjson.Parse(got)
	if err != nil {
		return &reply{fault: "the reply is not JSON: " + err.Error()}, nil
	}
	return readChoice(v), nil
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

// readChoice reads the first choice of a whole reply.
func readChoice(v gjson.Result) *reply {
	m := v.Get("choices.0.message")
	if !m.IsObject() {
		return &reply{fault: "the reply has no choices[0].message"}
	}
	r := &reply{Message: *leak.ReadMessage(m), finish: v.Get("choices.0.finish_reason").Str}
	m.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
		r.calls = append(r.calls, call{c.Get("id").Str, c.Get("function.name").Str, c.Get("function.arguments").Str})
		return len(r.calls) < maxCalls
	})
	r.echo = message{"role": "assistant"}
	m.ForEach(func(name, value gjson.Result) bool {
		r.echo[name.Str] = json.RawMessage(value.Raw)
		return true
	})
	return r
}

// back is the reply as a message of the conversation: with all its members, since some
// providers want their reasoning back.
func (r *reply) back() message { return r.echo }

// readStream joins the deltas of the first choice.
func readStream(data []byte) *reply {
	r, s := new(reply), stream{arguments: map[int64]*strings.Builder{}}
	done := false
	var scanner sse.Scanner
	for len(data) > 0 && r.fault == "" {
		f, ok := scanner.Next(data)
		if !ok {
			if f, ok = scanner.Last(data); !ok {
				break
			}
		}
		data = data[len(f.Raw):]
		switch text := strings.TrimSpace(string(f.Data)); {
		case text == "":
		case text == "[DONE]":
			done = true
		default:
			v, err := foreignjson.Parse([]byte(text))
			if err != nil {
				r.fault = "an event of the stream is not JSON: " + err.Error()
				break
			}
			r.delta(v, &s)
		}
	}
	r.Text, r.Reasoning = s.text.String(), s.reasoning.String()
	for _, i := range slices.Sorted(maps.Keys(s.arguments)) {
		r.Arguments = append(r.Arguments, s.arguments[i].String())
	}
	if r.fault == "" && !done && r.finish == "" {
		r.fault = "the stream broke off: it has no finish_reason and no [DONE]"
	}
	return r
}

// A stream collects the deltas of a reply.
type stream struct {
	text, reasoning strings.Builder
	arguments       map[int64]*strings.Builder
}

// maxCalls bounds the calls of a reply that are looked at.
const maxCalls = 100

// delta takes an event of a stream.
func (r *reply) delta(v gjson.Result, s *stream) {
	if e := v.Get("error"); e.IsObject() || e.Type == gjson.String {
		r.fault = "the stream has an error: " + shorttext.Ellipsis(errorText([]byte(v.Raw)), 200)
	}
	v.Get("choices").ForEach(func(_, choice gjson.Result) bool {
		if choice.Get("index").Int() != 0 {
			return true
		}
		if finish := choice.Get("finish_reason").Str; finish != "" {
			r.finish = finish
		}
		d := choice.Get("delta")
		m := leak.ReadMessage(d)
		s.text.WriteString(m.Text)
		s.reasoning.WriteString(m.Reasoning)
		d.Get("tool_calls").ForEach(func(_, c gjson.Result) bool {
			i := c.Get("index").Int()
			if s.arguments[i] == nil && len(s.arguments) < maxCalls {
				s.arguments[i] = new(strings.Builder)
			}
			if to := s.arguments[i]; to != nil {
				to.WriteString(c.Get("function.arguments").Str)
			}
			return true
		})
		return true
	})
}
