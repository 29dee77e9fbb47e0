package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/visible"
)

// A painter prints pieces so that their channels can be told apart: by type
// where there is colour, else by a word before each line.
type painter struct {
	w *shell.Typesetter

	channel sotto.Channel
	block   int
	open    bool // a run has begun
	inLine  bool // something stands on the line
	newline int  // line ends that wait for more of the run
	esc     visible.Escaper
}

// looks are the styles and the words of the channels.
var looks = [...]struct {
	style shell.Style
	word  string
}{
	sotto.ChannelText:      {shell.Unstyled, "say  │ "},
	sotto.ChannelReasoning: {shell.Dim, "think│ "},
	sotto.ChannelNarration: {shell.Italic, "tell │ "},
	sotto.ChannelTool:      {shell.Cyan, "tool │ "},
	sotto.ChannelAside:     {shell.Struck, "aside│ "},
	sotto.ChannelMarkup:    {},
}

func newPainter(sh *shell.Shell) *painter { return &painter{w: shell.NewTypesetter(sh.Out)} }

func (p *painter) flush() error { return p.w.Flush() }

// piece prints settled bytes.
func (p *painter) piece(piece sotto.Piece) {
	if piece.Channel == sotto.ChannelMarkup {
		return
	}
	if p.open && (piece.Channel != p.channel || piece.Block != p.block) {
		p.endRun()
	}
	if !p.open {
		p.channel, p.block, p.open = piece.Channel, piece.Block, true
	}
	p.write(piece.Bytes, false)
}

// write prints bytes of the run.
func (p *painter) write(text []byte, end bool) {
	shown := bytes.ReplaceAll(p.esc.Append(nil, text, end), []byte("\r\n"), []byte("\n"))
	for i, line := range bytes.Split(shown, []byte("\n")) {
		if i > 0 {
			p.newline++
		}
		if len(line) == 0 || !p.inLine && p.newline == 0 && len(bytes.TrimLeft(line, whiteSpace)) == 0 {
			continue
		}
		p.startLine()
		p.w.Set(looks[p.channel].style, string(line))
	}
}

// startLine writes the line ends that wait, and what begins a line.
func (p *painter) startLine() {
	if !p.inLine {
		p.newline = 0 // a run begins with something to see
		p.begin()
	}
	for ; p.newline > 0; p.newline-- {
		p.w.WriteString("\n")
		p.begin()
	}
	p.inLine = true
}

func (p *painter) begin() {
	if !p.w.Colour {
		p.w.WriteString(looks[p.channel].word)
	}
}

// endRun ends what is printed of a block.
func (p *painter) endRun() {
	if p.open {
		p.write(nil, true)
	}
	if p.inLine {
		p.w.WriteString("\n")
	}
	p.open, p.inLine, p.newline = false, false, 0
}

// plain prints text of our own.
func (p *painter) plain(text string) { p.w.WriteString(text) }

// heading prints a line whose first words are bold.
func (p *painter) heading(words, rest string) {
	p.w.Set(shell.Bold, words)
	p.w.WriteString(rest + "\n")
}

// note prints a remark of ours below a reply.
func (p *painter) note(text string) {
	p.w.WriteString("       ")
	p.w.Set(shell.Dim, text)
	p.w.WriteString("\n")
}

// word returns what stands before a line of a channel where there is no colour.
func word(channel sotto.Channel) string { return looks[channel].word }

// remarks lists diagnostics for people.
func remarks(found []sotto.Diagnostic) string {
	var b strings.Builder
	for _, d := range found {
		fmt.Fprintf(&b, " · %s at %d", d.Code, d.Offset)
		if d.Reason != "" {
			fmt.Fprintf(&b, " (%s)", d.Reason)
		}
	}
	return b.String()
}
