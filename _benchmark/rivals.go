// Package rivals runs Sotto beside other ways to split a reply, and beside floors:
// the time that the hardware needs just to look at the bytes.
package rivals

import (
	"bytes"
	"regexp"
	"unsafe"

	"github.com/ollama/ollama/thinking"
	"github.com/sotto-llm/sotto"
)

// A Run reads something. It returns the number of bytes that it output or, for a
// floor, that it found.
type Run func() int

// Deltas feeds deltas to a splitter repeatedly, and before them the head, once.
func Deltas(g *sotto.Grammar, head string, deltas []string) Run {
	s := splitter(g, sotto.Options{Start: sotto.BeginOutside})
	s.FeedString(head)
	return func() int {
		n := 0
		for _, d := range deltas {
			n += given(s.FeedString(d))
		}
		return n
	}
}

// OllamaDeltas does what Deltas does with Ollama's parser.
func OllamaDeltas(head string, deltas []string) Run {
	p := ollama()
	p.AddContent(head)
	return func() int {
		n := 0
		for _, d := range deltas {
			thought, text := p.AddContent(d)
			n += len(thought) + len(text)
		}
		return n
	}
}

// Reply feeds whole replies to a splitter, in the deltas given.
func Reply(g *sotto.Grammar, o sotto.Options, deltas ...string) Run {
	o.Start = sotto.BeginOutside
	s := splitter(g, o)
	return func() int {
		s.Reset()
		n := 0
		for _, d := range deltas {
			n += given(s.FeedString(d))
		}
		return n + given(s.Close(sotto.EndStopped))
	}
}

// Parse reads a complete reply into new strings.
func Parse(g *sotto.Grammar, reply string) Run {
	return func() int {
		r, err := g.Parse(reply, sotto.BeginOutside, sotto.EndStopped)
		if err != nil {
			panic(err)
		}
		n := len(r.Visible())
		for _, t := range r.Reasoning() {
			n += len(t)
		}
		return n
	}
}

// OllamaReply does what Reply does with Ollama's parser.
func OllamaReply(deltas ...string) Run {
	return func() int {
		p := ollama()
		n := 0
		for _, d := range deltas {
			thought, text := p.AddContent(d)
			n += len(thought) + len(text)
		}
		return n
	}
}

var thinkBlock = regexp.MustCompile(`(?s)<think>.*?</think>`)

// Regexp removes the block from a whole reply, as evaluation harnesses do.
func Regexp(reply string) Run {
	return func() int { return len(thinkBlock.ReplaceAllString(reply, "")) }
}

// RegexpStream does so while the reply streams in: from the start, at each delta.
func RegexpStream(deltas ...string) Run {
	return func() int {
		var acc []byte
		n := 0
		for _, d := range deltas {
			acc = append(acc, d...)
			n = len(thinkBlock.ReplaceAll(acc, nil))
		}
		return n
	}
}

// Lines walks the lines of s.
func Lines(s string) Run { return func() int { return hops(s, '\n') } }

// Angles walks the `<` signs of s.
func Angles(s string) Run { return func() int { return hops(s, '<') } }

func hops(s string, c byte) int {
	b := unsafe.Slice(unsafe.StringData(s), len(s))
	n := 0
	for {
		i := bytes.IndexByte(b, c)
		if i < 0 {
			return n
		}
		n++
		b = b[i+1:]
	}
}

// Copy copies s.
func Copy(s string) Run {
	to := make([]byte, len(s))
	return func() int { return copy(to, s) }
}

func ollama() *thinking.Parser {
	return &thinking.Parser{OpeningTag: "<think>", ClosingTag: "</think>"}
}

func splitter(g *sotto.Grammar, o sotto.Options) *sotto.Splitter {
	s, err := g.NewSplitter(o)
	if err != nil {
		panic(err)
	}
	return s
}

func given(pieces []sotto.Piece) int {
	n := 0
	for i := range pieces {
		n += len(pieces[i].Bytes) + len(pieces[i].Visible)
	}
	return n
}

// Qwen3 is the dialect for the same block as Ollama's parser.
func Qwen3() *sotto.Grammar {
	g, err := sotto.Named("qwen3")
	if err != nil {
		panic(err)
	}
	return g
}
