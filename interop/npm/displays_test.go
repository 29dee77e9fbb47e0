package npm_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/interop/internal/displays"
)

// A show is a display, with a gateway for each reasoning field.
type show struct {
	display routing.Display
	stages  map[string]*displays.Stage
}

// newShows puts gateways of every display before the models of [displays].
func newShows(t *testing.T) (all []show) {
	t.Helper()
	for _, display := range routing.Displays() {
		s := show{display, map[string]*displays.Stage{}}
		for _, field := range fields {
			s.stages[field] = displays.New(t, display, routeFor(field))
		}
		all = append(all, s)
	}
	return all
}

// under separates the check of a conversation from the display that it is had under.
const under = "under "

// plans are the conversations of [displays] under one display: by API, the models that it has there.
func (s show) plans() (all []plan) {
	bases := map[string]string{}
	for field, stage := range s.stages {
		bases[field] = stage.URL
	}
	models := map[string][]string{}
	for _, api := range withFields {
		for _, m := range displays.Models(api) {
			models[m] = append(models[m], api)
		}
	}
	models["qwen3:8b"] = append(models["qwen3:8b"], "openai.completions")
	for model, apis := range models {
		for _, stream := range []bool{false, true} {
			for _, tools := range []bool{false, true} {
				p := plan{Check: under + string(s.display), Model: model, Stream: stream, Prompts: displays.Prompts[:1], Tools: tools, Bases: bases}
				if tools {
					p.Prompts = displays.Prompts
				}
				for _, api := range apis {
					if displays.Tools(api) == tools {
						p.APIs = append(p.APIs, api)
					}
				}
				if len(p.APIs) > 0 {
					all = append(all, p)
				}
			}
		}
	}
	return all
}

// does is what the client does with every server.
func (c *npmClient) does() displays.Client {
	return displays.Client{Silent: !c.reads(), Repeats: c.repeats(true), Parses: c.Parses, Bare: c.Bare, Forgets: c.limit(history) != nil}
}

// judgeDisplay holds the law of [displays] for a conversation.
func judgeDisplay(v verdict, client *npmClient, c *conversation) {
	if c.Error != "" && client.limit(tools) != nil && c.Stream {
		return
	}
	if c.Error != "" {
		v.errorf(display, "%s", c.Error)
		return
	}
	d := displays.Conversation{
		API: client.API, Model: c.Model, Display: routing.Display(strings.TrimPrefix(c.Check, under)), Client: client.does(), Stream: c.Stream,
		Before: c.before, After: c.after,
	}
	for _, turn := range c.Turns {
		d.Turns = append(d.Turns, displays.Turn{Text: turn.Text, Thought: turn.Thought, Calls: len(turn.Calls)})
	}
	for _, wrong := range d.Judge() {
		v.errorf(display, "%s", wrong)
	}
}
