// Package painter prints replies for people, each channel in its own style.
package painter

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/typeset"
	"github.com/sotto-llm/sotto/internal/base/visible"
)

// A Painter prints pieces so that you can tell their channels apart: by style if
// there is colour, otherwise by a word before each line.
type Painter struct {
	w *typeset.Writer

	channel sotto.Channel
	block   int
	open    bool // a run has begun
	inLine  bool // the line has some text
	newline int  // line ends held back until more of the run arrives
	esc     visible.Escaper
}

// looks are the styles and the words of the channels.
var looks = [...]struct {
	style typeset.Style
	word  string
}{
	sotto.ChannelText:      {typeset.Unstyled, "say  │ "},
	sotto.ChannelReasoning: {typeset.Dim, "think│ "},
	sotto.ChannelNarration: {typeset.Italic, "tell │ "},
	sotto.ChannelTool:      {typeset.Cyan, "tool │ "},
	sotto.ChannelAside:     {typeset.Struck, "aside│ "},
	sotto.ChannelMarkup:    {},
}

// New returns a painter that prints to w.
func New(w *typeset.Writer) *Painter { return &Painter{w: w} }

// Flush writes what is buffered.
func (p *Painter) Flush() error { return p.w.Flush() }

// Piece prints settled bytes.
func (p *Painter) Piece(piece sotto.Piece) {
	if piece.Channel == sotto.ChannelMarkup {
		return
	}
	if p.open && (piece.Channel != p.channel || piece.Block != p.block) {
		p.EndRun()
	}
	if !p.open {
		p.channel, p.block, p.open = piece.Channel, piece.Block, true
	}
	p.write(piece.Bytes, false)
}

// write prints bytes of the run.
func (p *Painter) write(text []byte, end bool) {
	shown := bytes.ReplaceAll(p.esc.Append(nil, text, end), []byte("\r\n"), []byte("\n"))
	for i, line := range bytes.Split(shown, []byte("\n")) {
		if i > 0 {
			p.newline++
		}
		if len(line) == 0 || !p.inLine && p.newline == 0 && len(bytes.TrimLeft(line, WhiteSpace)) == 0 {
			continue
		}
		p.startLine()
		p.w.Set(looks[p.channel].style, string(line))
	}
}

// startLine writes the line ends that were held back, and the beginning of a line.
func (p *Painter) startLine() {
	if !p.inLine {
		p.newline = 0 // a run begins with something visible
		p.begin()
	}
	for ; p.newline > 0; p.newline-- {
		p.w.WriteString("\n")
		p.begin()
	}
	p.inLine = true
}

func (p *Painter) begin() {
	if !p.w.Colour {
		p.w.WriteString(looks[p.channel].word)
	}
}

// EndRun ends the output of a block.
func (p *Painter) EndRun() {
	if p.open {
		p.write(nil, true)
	}
	if p.inLine {
		p.w.WriteString("\n")
	}
	p.open, p.inLine, p.newline = false, false, 0
}

// Plain prints our own text.
func (p *Painter) Plain(text string) { p.w.WriteString(text) }

// Heading prints a line whose first words are bold.
func (p *Painter) Heading(words, rest string) {
	p.w.Set(typeset.Bold, words)
	p.w.WriteString(rest + "\n")
}

// Note prints our own remark below a reply.
func (p *Painter) Note(text string) {
	p.w.WriteString("       ")
	p.w.Set(typeset.Dim, text)
	p.w.WriteString("\n")
}

// Word returns the text before a line of a channel if there is no colour.
func Word(channel sotto.Channel) string { return looks[channel].word }

// Remarks prints diagnostics for people.
func Remarks(found []sotto.Diagnostic) string {
	var b strings.Builder
	for _, d := range found {
		fmt.Fprintf(&b, " · %s at %d", d.Code, d.Offset)
		if d.Reason != "" {
			fmt.Fprintf(&b, " (%s)", d.Reason)
		}
	}
	return b.String()
}

// WhiteSpace is the characters that are invisible when printed.
const WhiteSpace = " \t\n\v\f\r"
