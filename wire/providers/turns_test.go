package providers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/wire/providers"
	"github.com/sotto-llm/sotto/wire/switches"
	"github.com/sotto-llm/sotto/wire/turn"
)

// TestTurns: a request of one API that is written in the words of another means the same: the same
// messages in the same order, the same reasoning, tools, calls, results and settings.
func TestTurns(t *testing.T) {
	var apis []turn.API
	for _, c := range providers.Codecs() {
		if api, ok := c.(turn.API); ok {
			apis = append(apis, api)
		}
	}
	rounds := 40
	if !effort.Brief() {
		rounds = 1000 * effort.Times()
	}
	if len(apis) < 7 {
		t.Errorf("%d APIs have conversations", len(apis))
	}
	for _, from := range apis {
		for _, to := range apis {
			t.Run(from.Name()+" to "+to.Name(), func(t *testing.T) {
				t.Parallel()
				written := 0
				for seed := range uint64(rounds) {
					ok, err := bridged(rand.New(rand.NewPCG(seed, 0)), from, to)
					if err != nil {
						t.Fatalf("seed %d: %v", seed, err)
					}
					if ok {
						written++
					}
				}
				if written < rounds/4 {
					t.Errorf("%d requests were written", written)
				}
			})
		}
	}
}

// bridged brings a random request from one API to another and compares its meaning. It returns false
// for a request that one of them cannot have.
func bridged(r *rand.Rand, from, to turn.API) (bool, error) {
	q := randomRequest(r)
	body, err := from.WriteTurn(nil, q)
	if _, ok := errors.AsType[*turn.UnsupportedError](err); ok {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("the first writer: %w", err)
	}
	read, err := from.ReadTurn(body)
	if err != nil {
		return false, fmt.Errorf("the first reader: %w\n%s", err, body)
	}
	if left, err := read.For(to.Name()); err != nil || len(left) > 0 && from.Name() != to.Name() {
		return false, fmt.Errorf("For: left %q, %w\n%s", left, err, body)
	}
	second, err := to.WriteTurn(nil, read)
	if _, ok := errors.AsType[*turn.UnsupportedError](err); ok {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("the second writer: %w\n%s", err, body)
	}
	back, err := to.ReadTurn(second)
	if err != nil {
		return false, fmt.Errorf("the second reader: %w\n%s", err, second)
	}
	if was, is := meaning(q), meaning(back); !reflect.DeepEqual(was, is) {
		return false, fmt.Errorf("another meaning:\n%s\nwant\n%s\nfirst  %s\nsecond %s", lines(is), lines(was), body, second)
	}
	return true, nil
}

func lines(list []string) string { return "    " + strings.Join(list, "\n    ") }

// meaning is what a request says, in lines. Left out is what an API may say in several ways or has
// outside its body: the model, the ids of thoughts, whether messages of one role are one.
func meaning(q *turn.Request) []string {
	var system, list []string
	names := turn.Names(q.Messages)
	for _, m := range turn.Joined(q.Messages) {
		to, role := &list, m.Role
		switch role {
		case turn.System, turn.Developer:
			to, role = &system, turn.System
		case turn.ToolRole:
			role = turn.User
		}
		for _, p := range m.Parts {
			if p.Kind == turn.Text && p.Text == "" { // where an API requires a text
				continue
			}
			*to = append(*to, fmt.Sprintf("%s: %s", role, partMeaning(p, names)))
		}
	}
	list = append(system, list...)
	if q.Choice.Mode == turn.None || len(q.Tools) == 0 { // Ollama's API can forbid calls in no other way
		list = append(list, "no calls")
	} else {
		for _, tool := range q.Tools {
			list = append(list, fmt.Sprintf("tool %s %q %s", tool.Name, tool.Description, compact(tool.Schema)))
		}
		if q.Choice.Mode != "" && q.Choice.Mode != turn.Auto {
			list = append(list, fmt.Sprintf("choice %s %q", q.Choice.Mode, q.Choice.Names))
		}
	}
	list = append(list, fmt.Sprintf("limit %s, stop %q, temperature %s, top_p %s", q.MaxTokens, q.Stop, q.Sampling.Temperature, q.Sampling.TopP))
	if q.Format.Mode != "" && q.Format.Mode != turn.PlainText {
		list = append(list, fmt.Sprintf("format %s %s", q.Format.Mode, compact(q.Format.Schema)))
	}
	return append(list, fmt.Sprintf("thinking %v", q.Thinking.Mode == switches.Off))
}

func partMeaning(p turn.Part, names map[string]string) string {
	switch p.Kind {
	case turn.Text:
		return fmt.Sprintf("text %q", p.Text)
	case turn.Thought:
		return fmt.Sprintf("thought %q", p.Text)
	case turn.Image:
		return fmt.Sprintf("image %s %s", p.Media.Type, p.Media.Data)
	case turn.Call:
		return fmt.Sprintf("call %s %s %s", p.ID, p.Name, compact(p.Arguments))
	case turn.Result:
		var said strings.Builder
		for _, r := range p.Results {
			said.WriteString(r.Text)
		}
		if p.Name == "" {
			p.Name = names[p.ID]
		}
		return fmt.Sprintf("result %s %s %q", p.ID, p.Name, said.String())
	}
	return fmt.Sprintf("%+v", p)
}

func compact(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	b, _ := json.Marshal(v)
	return string(b)
}

func randomRequest(r *rand.Rand) *turn.Request {
	q := &turn.Request{Model: "m", MaxTokens: "4000"}
	some := func(n int) bool { return r.IntN(n) == 0 }
	if some(2) {
		q.Messages = append(q.Messages, says(turn.System, turn.Part{Text: randomText(r)}))
	}
	for i := range 1 + r.IntN(3) {
		user := says(turn.User, turn.Part{Text: randomText(r)})
		if some(4) {
			user.Parts = append(user.Parts, turn.Part{Kind: turn.Image, Media: turn.Media{Type: "image/png", Data: pixel}})
		}
		q.Messages = append(q.Messages, user)
		q.Messages = append(q.Messages, randomSteps(r, i)...)
	}
	q.Messages = append(q.Messages, says(turn.User, turn.Part{Text: randomText(r)}))
	for i := range 3 {
		q.Tools = append(q.Tools, turn.Tool{Name: fmt.Sprint("tool", i), Description: randomText(r), Schema: `{"type":"object","properties":{"a":{"type":"string"}}}`})
	}
	if some(3) {
		q.Choice.Mode = []string{turn.Auto, turn.None, turn.Required}[r.IntN(3)]
		if q.Choice.Mode == turn.Required && some(2) {
			q.Choice.Names = []string{"tool1"}
		}
	}
	if some(3) {
		q.Stop = []string{"END", "\n\n"}
	}
	if some(3) {
		q.Sampling.Temperature, q.Sampling.TopP = "0.70", "0.9"
	}
	if some(4) {
		q.Format = turn.Format{Mode: turn.Schema, Name: "answer", Schema: `{"type":"object"}`}
	}
	if some(4) {
		q.Thinking.Mode = switches.Off
	}
	return q
}

// randomSteps are what the assistant says and calls, with the results.
func randomSteps(r *rand.Rand, round int) (list []turn.Message) {
	for step := range r.IntN(3) {
		m := says(turn.Assistant)
		if r.IntN(2) == 0 {
			m.Parts = append(m.Parts, turn.Part{Kind: turn.Thought, Text: randomText(r)})
		}
		if r.IntN(2) == 0 {
			m.Parts = append(m.Parts, turn.Part{Text: randomText(r)})
		}
		var results []turn.Message
		for i := range 1 + r.IntN(2) {
			id, name := fmt.Sprintf("call_%d_%d_%d", round, step, i), fmt.Sprint("tool", r.IntN(3))
			m.Parts = append(m.Parts, turn.Part{Kind: turn.Call, ID: id, Name: name, Arguments: `{"a": "` + "x" + `"}`})
			results = append(results, says(turn.ToolRole, turn.Part{Kind: turn.Result, ID: id, Name: name, Results: []turn.Part{{Text: randomText(r)}}}))
		}
		list = append(append(list, m), results...)
	}
	return append(list, says(turn.Assistant, turn.Part{Text: randomText(r)}))
}

func says(role turn.Role, parts ...turn.Part) turn.Message {
	return turn.Message{Role: role, Parts: parts}
}

// pixel is a picture of one pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func randomText(r *rand.Rand) string {
	words := []string{"Oslo", "<think>", "</think>", "\n", "\"", "\\", "é", "\U0001F600", " ", "9", "{", "is"}
	text := "w"
	for range r.IntN(6) {
		text += words[r.IntN(len(words))]
	}
	return text + "."
}
