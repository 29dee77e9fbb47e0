package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto"
)

// A painter prints pieces so that their channels can be told apart: by type
// where there is colour, else by a word before each line.
type painter struct {
	w      *bufio.Writer
	colour bool

	channel sotto.Channel
	block   int
	open    bool   // a run has begun
	inLine  bool   // something stands on the line
	newline int    // line ends that wait for more of the run
	held    []byte // a character cut by a piece
}

// looks are the styles and the words of the channels.
var looks = [...]struct{ style, word string }{
	sotto.Text:      {"", "say  │ "},
	sotto.Reasoning: {"\x1b[2m", "think│ "},
	sotto.Narration: {"\x1b[3m", "tell │ "},
	sotto.Tool:      {"\x1b[36m", "tool │ "},
	sotto.Aside:     {"\x1b[2;9m", "aside│ "},
	sotto.Markup:    {},
}

const plainStyle = "\x1b[0m"

func newPainter(sh *shell) *painter {
	return &painter{w: bufio.NewWriterSize(sh.rawOut, 32<<10), colour: sh.colour(sh.rawOut)}
}

func (p *painter) flush() error { return p.w.Flush() }

// piece prints settled bytes.
func (p *painter) piece(piece sotto.Piece) {
	if piece.Channel == sotto.Markup {
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
	text = append(p.held, text...)
	shown, n := appendVisible(nil, text, end)
	p.held = append([]byte(nil), text[n:]...)
	shown = bytes.ReplaceAll(shown, []byte("\r\n"), []byte("\n"))
	for i, line := range bytes.Split(shown, []byte("\n")) {
		if i > 0 {
			p.newline++
		}
		if len(line) == 0 || !p.inLine && p.newline == 0 && len(bytes.TrimLeft(line, whiteSpace)) == 0 {
			continue
		}
		p.startLine()
		p.styled(line)
	}
}

// startLine writes the line ends that wait, and what begins a line.
func (p *painter) startLine() {
	if !p.inLine {
		p.newline = 0 // a run begins with something to see
		p.begin()
	}
	for ; p.newline > 0; p.newline-- {
		p.w.WriteByte('\n')
		p.begin()
	}
	p.inLine = true
}

func (p *painter) begin() {
	if !p.colour {
		p.w.WriteString(looks[p.channel].word)
	}
}

// styled writes text in the type of its channel. The type ends with the text:
// an interrupt must not leave the terminal in it.
func (p *painter) styled(text []byte) {
	style := looks[p.channel].style
	if !p.colour || style == "" {
		p.w.Write(text)
		return
	}
	p.w.WriteString(style)
	p.w.Write(text)
	p.w.WriteString(plainStyle)
}

// endRun ends what is printed of a block.
func (p *painter) endRun() {
	if len(p.held) > 0 {
		p.write(nil, true)
	}
	if p.inLine {
		p.w.WriteByte('\n')
	}
	p.open, p.inLine, p.newline = false, false, 0
}

// plain prints text of our own.
func (p *painter) plain(text string) { p.w.WriteString(text) }

// title prints what is to come.
func (p *painter) title(number int, line shownLine) {
	caption := line.caption
	if caption == "" {
		caption = fmt.Sprintf("line %d", line.number)
		if line.id != nil {
			caption += ", id " + string(line.id)
		}
	}
	shown, _ := appendVisible(nil, []byte(caption), true)
	head := fmt.Sprintf("%d. %s", number, shown)
	if p.colour {
		head = "\x1b[1m" + head + plainStyle
	}
	if number > 1 {
		p.w.WriteByte('\n')
	}
	fmt.Fprintf(p.w, "%s  [%s, starts %s, ends %s]\n", head, line.name, line.start, line.end)
}

// note prints a remark of ours below a reply.
func (p *painter) note(text string) {
	if p.colour {
		text = "\x1b[2m" + text + plainStyle
	}
	fmt.Fprintf(p.w, "       %s\n", text)
}

// line prints a reply in one line.
func (p *painter) line(line shownLine, t *tally, found []sotto.Diagnostic) {
	name := fmt.Sprint(line.number)
	if line.id != nil {
		name = string(line.id)
	}
	answer := strings.Join(strings.Fields(string(t.visible[:min(len(t.visible), 400)])), " ")
	shown, _ := appendVisible(nil, []byte(shorten(name+"  "+t.String()+remarks(found)+"  │ "+answer, 240)), true)
	fmt.Fprintf(p.w, "%s\n", shown)
}
