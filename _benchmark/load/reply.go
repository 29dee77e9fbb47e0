package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/replies"
)

// A said is a client's reading of a reply.
type said struct{ content, reasoning string }

// A script is what the upstream sends: the frames of one reply. It also holds the
// right reading of the frames as they are, and as the gateway changes them.
type script struct {
	frames    []string // each an event with its end
	plain, gw said
	thoughts  int  // texts before the answer
	stamped   bool // texts begin with a stamp, which is set when they are sent
}

// stamp marks the place in a frame for the time at which it was sent, in
// nanoseconds.
const stamp = "@0000000000000000000"

// newScript writes a reply of a number of events. Half of its texts are reasoning.
// In the variant tags, the reasoning is between tags in the content; in fields, it
// is in its own field; in text, there is none. The answer has Markdown, and
// characters that could begin a tag. In the variant prose, the reasoning is in a
// field and the answer has neither.
func newScript(variant string, events int, stamped bool) (*script, error) {
	s := &script{stamped: stamped}
	texts := events - 4 // a role, a finish reason, usage, [DONE]
	if variant == "tags" {
		texts -= 2
	}
	if texts < 2 {
		return nil, fmt.Errorf("%d events are too few", events)
	}
	thoughts := texts / 2
	if variant == "text" {
		thoughts = 0
	}
	thought := s.deltas(replies.Reasoning, thoughts)
	if thoughts > 0 {
		thought[thoughts-1] = "." // no white space at the end, which the gateway would trim
	}
	text := replies.Text
	if variant == "prose" {
		text = replies.Prose
	}
	answer := s.deltas(text, texts-thoughts)
	want := said{strings.Join(answer, ""), strings.Join(thought, "")}

	s.add(`{"role":"assistant","content":""}`, "null")
	field := "content"
	switch variant {
	case "tags":
		s.add(`{"content":"<think>"}`, "null")
	case "fields", "prose":
		field = "reasoning_content"
	case "text":
	default:
		return nil, fmt.Errorf("%q is no variant: want tags, fields, text or prose", variant)
	}
	for _, t := range thought {
		s.add(`{"`+field+`":`+quote(t)+`}`, "null")
	}
	if variant == "tags" {
		s.add(`{"content":"</think>"}`, "null")
	}
	s.thoughts = thoughts
	for _, t := range answer {
		s.add(`{"content":`+quote(t)+`}`, "null")
	}
	s.add(`{}`, `"stop"`)
	s.frames = append(s.frames,
		`data: {`+head+`"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":`+fmt.Sprint(texts)+`,"total_tokens":`+fmt.Sprint(12+texts)+"}}\n\n",
		"data: [DONE]\n\n")

	s.plain, s.gw = want, want
	if variant == "tags" {
		s.plain = said{content: "<think>" + strings.Join(thought, "") + "</think>" + want.content}
	}
	return s, nil
}

const (
	delta = 4 // bytes of a text, about a token
	head  = `"id":"chatcmpl-8f2a9c4e6b1d4f7c9a3e5d2b8c6f1a4e","object":"chat.completion.chunk","created":1764547200,"model":"` + model + `",`
	model = "qwen3:8b"
)

// deltas returns the first n deltas of a text, cut as a model sends it.
func (s *script) deltas(text func(n int) string, n int) []string {
	var d []string
	for rest := text(n * (delta + utf8.UTFMax)); len(d) < n; {
		end := delta
		for !utf8.RuneStart(rest[end]) {
			end++
		}
		d, rest = append(d, rest[:end]), rest[end:]
	}
	if s.stamped {
		for i := range d {
			d[i] = stamp + d[i]
		}
	}
	return d
}

func (s *script) add(delta, finish string) {
	s.frames = append(s.frames, `data: {`+head+`"choices":[{"index":0,"delta":`+delta+`,"logprobs":null,"finish_reason":`+finish+"}]}\n\n")
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSpace(b.String())
}

// understand reads a streamed reply as a client does. An incomplete reply is an
// error.
func understand(body string) (said, error) {
	var content, reasoning strings.Builder
	finish, done := "", false
	for event := range strings.SplitSeq(body, "\n\n") {
		for line := range strings.Lines(event) {
			data, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "data: ")
			switch {
			case !ok:
				continue
			case done:
				return said{}, errors.New("a frame behind [DONE]")
			case data == "[DONE]":
				done = true
				continue
			}
			var f struct {
				Error   json.RawMessage
				Choices []struct {
					Delta struct {
						Content   string
						Reasoning string `json:"reasoning_content"`
						Thought   string `json:"reasoning"` // Bifrost's name for it
					}
					Finish string `json:"finish_reason"`
				}
			}
			if err := json.Unmarshal([]byte(data), &f); err != nil {
				return said{}, fmt.Errorf("%w in %q", err, data)
			}
			if len(f.Error) > 0 && string(f.Error) != "null" {
				return said{}, fmt.Errorf("the reply has an error: %s", f.Error)
			}
			for _, c := range f.Choices {
				content.WriteString(c.Delta.Content)
				reasoning.WriteString(c.Delta.Reasoning + c.Delta.Thought)
				finish += c.Finish
			}
		}
	}
	if !done || finish != "stop" {
		return said{}, fmt.Errorf("truncated: [DONE] %v, finish reason %q", done, finish)
	}
	return said{content.String(), reasoning.String()}, nil
}
