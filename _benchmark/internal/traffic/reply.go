package traffic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/testing/replies"
)

// A said is a client's reading of a reply.
type Said struct{ Content, Reasoning string }

// A script is what the upstream sends: the frames of one reply. It also holds the
// right reading of the frames as they are, and as the gateway changes them.
type Script struct {
	Frames         []string // each an event with its end
	Plain, Gateway Said
	Thoughts       int  // texts before the answer
	Stamped        bool // texts begin with a stamp, which is set when they are sent
}

// stamp marks the place in a frame for the time at which it was sent, in
// nanoseconds.
const stamp = "@0000000000000000000"

// NewScript writes a reply of a number of events. Half of its texts are reasoning.
// In the variant tags, the reasoning is between tags in the content; in fields, it
// is in its own field; in text, there is none. The answer has Markdown, and
// characters that could begin a tag. In the variant prose, the reasoning is in a
// field and the answer has neither.
func NewScript(variant string, events int, stamped bool) (*Script, error) {
	s := &Script{Stamped: stamped}
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
	want := Said{strings.Join(answer, ""), strings.Join(thought, "")}

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
	s.Thoughts = thoughts
	for _, t := range answer {
		s.add(`{"content":`+quote(t)+`}`, "null")
	}
	s.add(`{}`, `"stop"`)
	s.Frames = append(s.Frames,
		`data: {`+head+`"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":`+fmt.Sprint(texts)+`,"total_tokens":`+fmt.Sprint(12+texts)+"}}\n\n",
		"data: [DONE]\n\n")

	s.Plain, s.Gateway = want, want
	if variant == "tags" {
		s.Plain = Said{Content: "<think>" + strings.Join(thought, "") + "</think>" + want.Content}
	}
	return s, nil
}

// Kept is how much of a reply in tags a gateway remembers: its raw text, and the reasoning.
func (s *Script) Kept() int { return 2*len(s.Gateway.Reasoning) + len(s.Gateway.Content) }

const (
	delta = 4 // bytes of a text, about a token
	head  = `"id":"chatcmpl-8f2a9c4e6b1d4f7c9a3e5d2b8c6f1a4e","object":"chat.completion.chunk","created":1764547200,"model":"` + Model + `",`
)

// Model is what clients ask for.
const Model = "qwen3:8b"

// deltas returns the first n deltas of a text, cut as a model sends it.
func (s *Script) deltas(text func(n int) string, n int) []string {
	var d []string
	for rest := text(n * (delta + utf8.UTFMax)); len(d) < n; {
		end := delta
		for !utf8.RuneStart(rest[end]) {
			end++
		}
		d, rest = append(d, rest[:end]), rest[end:]
	}
	if s.Stamped {
		for i := range d {
			d[i] = stamp + d[i]
		}
	}
	return d
}

func (s *Script) add(delta, finish string) {
	s.Frames = append(s.Frames, `data: {`+head+`"choices":[{"index":0,"delta":`+delta+`,"logprobs":null,"finish_reason":`+finish+"}]}\n\n")
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
func understand(body string) (Said, error) {
	var content, reasoning strings.Builder
	finish, done := "", false
	for event := range strings.SplitSeq(body, "\n\n") {
		for line := range strings.Lines(event) {
			data, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "data: ")
			switch {
			case !ok:
				continue
			case done:
				return Said{}, errors.New("a frame behind [DONE]")
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
				return Said{}, fmt.Errorf("%w in %q", err, data)
			}
			if len(f.Error) > 0 && string(f.Error) != "null" {
				return Said{}, fmt.Errorf("the reply has an error: %s", f.Error)
			}
			for _, c := range f.Choices {
				content.WriteString(c.Delta.Content)
				reasoning.WriteString(c.Delta.Reasoning + c.Delta.Thought)
				finish += c.Finish
			}
		}
	}
	if !done || finish != "stop" {
		return Said{}, fmt.Errorf("truncated: [DONE] %v, finish reason %q", done, finish)
	}
	return Said{content.String(), reasoning.String()}, nil
}
