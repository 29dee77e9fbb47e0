//go:build cgo

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect/dialectfile"
	"github.com/sotto-llm/sotto/internal/reply/abi"
)

// A reader holds the options of readings. It does not change.
type reader struct {
	grammar *sotto.Grammar
	options sotto.Options
}

// readOptions reads the options of sotto_reader_new.
func readOptions(text string) (*reader, error) {
	var o struct {
		Model   string          `json:"model"`
		Dialect json.RawMessage `json:"dialect"`
		Start   string          `json:"start"`
		Inline  []sotto.Channel `json:"inline"`
		MaxHold int             `json:"max_hold"`
		Tools   []string        `json:"tools"`
	}
	if text != "" {
		in := json.NewDecoder(bytes.NewReader([]byte(text)))
		in.DisallowUnknownFields()
		if err := in.Decode(&o); err != nil {
			return nil, fmt.Errorf("options: %w", err)
		}
		if _, err := in.Token(); !errors.Is(err, io.EOF) {
			return nil, errors.New("options: there is more after the object")
		}
	}
	g, err := grammarOf(o.Model, o.Dialect)
	if err != nil {
		return nil, err
	}
	r := &reader{grammar: g, options: sotto.Options{Start: sotto.Beginning(o.Start), Inline: o.Inline, MaxHold: o.MaxHold, Tools: o.Tools}}
	_, err = g.NewFilter(r.options) // which checks the options
	return r, err
}

func grammarOf(model string, dialect json.RawMessage) (*sotto.Grammar, error) {
	if len(dialect) > 0 && dialect[0] == '{' {
		list, err := dialectfile.Parse(dialect)
		if err != nil {
			return nil, fmt.Errorf("options: dialect: %w", err)
		}
		return sotto.Compile(list[0])
	}
	name := ""
	if len(dialect) > 0 {
		if err := json.Unmarshal(dialect, &name); err != nil {
			return nil, errors.New("options: dialect: want a name, or an object with the keys of a dialect file")
		}
	}
	return abi.Grammar(model, name)
}

// whole is the options for a whole reply.
func (r *reader) whole() sotto.Options {
	o := r.options
	if o.Start == "" {
		o.Start = abi.WholeStart(r.grammar)
	}
	return o
}

func (r *reader) parse(raw string, end sotto.Ending) (*sotto.Reply, error) {
	return r.grammar.ParseWith(raw, r.whole(), end)
}

func (r *reader) strip(raw string) (string, error) {
	o := r.whole()
	return r.grammar.Strip(raw, o.Start, o.Inline...)
}

// A stream reads one reply at a time. What the last call gave stands in it.
type stream struct {
	filter      *sotto.Filter
	closed      bool
	deltas      []delta
	text        []byte // of the deltas
	diagnostics []sotto.Diagnostic
	more        int
}

type delta struct {
	kind     byte
	block    int
	from, to int // bytes of text
}

func (s *stream) textOf(d delta) string { return string(s.text[d.from:d.to]) }

func (s *stream) add(kind byte, block int, text string) {
	from := len(s.text)
	s.text = append(s.text, text...)
	s.deltas = append(s.deltas, delta{kind, block, from, len(s.text)})
}

func (r *reader) stream() (*stream, error) {
	f, err := r.grammar.NewFilter(r.options)
	if err != nil {
		return nil, err
	}
	s := &stream{filter: f}
	f.OnText = func(text string) { s.add(abi.Text, 0, text) }
	f.OnReasoning = func(block int, text string) { s.add(abi.Reasoning, block, text) }
	f.OnReasoningEnd = func(block int, closed bool) {
		kind := abi.ReasoningBreak
		if closed {
			kind = abi.ReasoningEnd
		}
		s.add(kind, block, "")
	}
	f.OnNarration = func(block int, text string) { s.add(abi.Narration, block, text) }
	f.OnTool = func(block int, text string) { s.add(abi.Tool, block, text) }
	return s, nil
}

// clear drops what the last call gave, and the memory of a long one.
func (s *stream) clear() {
	if cap(s.text) > kept {
		s.text, s.deltas = nil, nil
	}
	s.text, s.deltas = s.text[:0], s.deltas[:0]
	s.diagnostics, s.more = nil, 0
}

func (s *stream) feed(data string) error {
	if s.closed {
		return errors.New("the stream is closed: reset it to read another reply")
	}
	s.clear()
	s.filter.Feed(data)
	return nil
}

func (s *stream) close(end sotto.Ending) error {
	if s.closed {
		return errors.New("the stream is closed already")
	}
	s.clear()
	s.closed = true
	s.filter.Close(end)
	s.diagnostics = s.filter.Diagnostics()
	s.more = s.filter.Counts().Total() - len(s.diagnostics)
	return nil
}

func (s *stream) reset() {
	s.clear()
	s.closed = false
	s.filter.Reset()
}
