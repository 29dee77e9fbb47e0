package chatcmd

import (
	"fmt"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/agent"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/typeset"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/markdown"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/model"
)

// A screen shows a conversation. On a terminal it shows everything, with a status
// line and what the agent says as Markdown; in a pipe, only what the agent says, as it
// is. All text goes through a typesetter,
// which makes control characters visible.
type screen struct {
	out       *shell.Printer
	w         *typeset.Writer
	reasoning string // show, line or hide
	tty       bool

	text     markdown.Stream
	status   bool // the line of the cursor is a status
	inLine   bool // … has text
	apart    bool // the line above it is not of the answer
	drawn    time.Time
	said     strings.Builder // of this reply
	thought  strings.Builder // of the last reply
	narrated strings.Builder // since anything else happened
	run      int             // bytes of the thoughts that are not folded yet
	since    time.Time       // … began
}

// statusGap is the time between two drawings of the status, at least.
const statusGap = 100 * time.Millisecond

func newScreen(sh *shell.Shell, reasoning string) *screen {
	return &screen{out: sh.Out, w: sh.Out.Typesetter(), reasoning: reasoning, tty: sh.Out.TTY}
}

func (s *screen) prompt() {
	if s.tty {
		s.w.Set(typeset.Bold, "> ")
		s.w.Flush()
	}
}

// ask shows a question, and waits at the end of the line for the answer.
func (s *screen) ask(question, prompt string) {
	s.finish()
	s.fold()
	s.freshLine()
	s.w.Set(typeset.Bold, question+" "+prompt)
	s.w.Flush()
	s.apart = true
}

// note shows a remark of the program.
func (s *screen) note(text string) {
	if s.tty {
		s.w.Set(typeset.Dim, text)
		s.line("")
	}
}

// line ends a line.
func (s *screen) line(text string) {
	if s.tty {
		s.w.WriteString(text + "\n")
		s.w.Flush()
	}
}

// history shows the last messages of a conversation that is resumed.
func (s *screen) history(list []conversation.Message) {
	for _, m := range list[max(0, len(list)-4):] {
		if m.Role == model.User {
			s.w.Set(typeset.Bold, "> ")
			s.line(m.Text)
			continue
		}
		s.apart = true
		s.say(m.Text)
		s.finish()
		s.w.Flush()
	}
}

func (s *screen) begin() {
	s.said.Reset()
	s.thought.Reset()
	s.run, s.apart = 0, true
	s.show("waiting")
}

// event shows what happens while the agent answers.
func (s *screen) event(e agent.Event) error {
	switch e.(type) {
	case agent.Narration, agent.Alive:
	default:
		s.narrated.Reset()
	}
	switch e := e.(type) {
	case agent.Reasoning:
		s.think(e.Text)
	case agent.Visible:
		s.said.WriteString(e.Text)
		s.fold()
		s.say(e.Text)
	case agent.Narration:
		s.fold()
		s.narrated.WriteString(e.Text)
		s.show(lastLine(s.narrated.String()))
	case agent.ToolStart:
		s.card("▸ "+e.Name, e.Arguments)
	case agent.ToolEnd:
		word := "done"
		if e.Failed {
			word = "failed"
		}
		s.card("◂ "+e.Name+": "+word, e.Result)
	default:
		return nil
	}
	return s.w.Flush()
}

// say shows visible text: in a pipe as it is, on a terminal as Markdown, block by block
// as each one is complete.
func (s *screen) say(text string) {
	if !s.tty {
		s.w.WriteString(text)
		s.inLine = !strings.HasSuffix(text, "\n")
		return
	}
	s.text.Add(text, s.block)
	if n := s.text.Pending(); n > 0 {
		s.show(fmt.Sprintf("writing: %d bytes", n))
	}
}

// block shows a whole block of the text, below a blank line if there is a block above.
func (s *screen) block(source string) {
	if strings.TrimSpace(source) == "" {
		return
	}
	s.clear()
	s.freshLine()
	if !s.apart {
		s.w.WriteString("\n")
	}
	markdown.Render(s.w, source, s.out.Width())
	s.apart = false
}

// finish shows what is left of the text, before anything else is shown.
func (s *screen) finish() {
	if s.tty {
		s.text.Flush(s.block)
	}
}

func (s *screen) think(text string) {
	s.thought.WriteString(text)
	if s.reasoning != "hide" {
		s.finish()
	}
	if s.run == 0 {
		s.since = time.Now()
	}
	s.run += len(text)
	switch {
	case !s.tty || s.reasoning == "hide":
	case s.reasoning == "show":
		s.clear()
		s.w.Set(typeset.Dim, text)
		s.inLine = !strings.HasSuffix(text, "\n")
	default:
		s.show(fmt.Sprintf("thinking: %d bytes", s.run))
	}
}

// fold ends the thoughts: they become one line with their size and time.
func (s *screen) fold() {
	s.clear()
	if s.run == 0 || !s.tty {
		s.run = 0
		return
	}
	if s.reasoning == "show" {
		s.freshLine()
		s.apart = true
	} else if s.reasoning == "line" {
		s.freshLine()
		s.w.Set(typeset.Dim, fmt.Sprintf("· thought: %d bytes in %.1f s\n", s.run, time.Since(s.since).Seconds()))
		s.apart = true
	}
	s.run = 0
}

// card shows the call of a tool on one line.
func (s *screen) card(head, text string) {
	s.finish()
	s.fold()
	if !s.tty {
		return
	}
	s.freshLine()
	s.w.Set(typeset.Cyan, head)
	s.w.Set(typeset.Dim, " "+s.fitted(text, len([]rune(head))+1)+"\n")
	s.apart = true
}

func (s *screen) freshLine() {
	if s.inLine {
		s.w.WriteString("\n")
		s.inLine = false
	}
}

// show draws the status line. A line that has text of the agent stays as it is.
func (s *screen) show(text string) {
	if !s.tty || !s.w.Colour || s.inLine || s.status && time.Since(s.drawn) < statusGap {
		return
	}
	s.clear()
	s.w.Set(typeset.Italic, s.fitted(text, 0))
	s.w.Flush()
	s.status, s.drawn = true, time.Now()
}

// lastLine returns the last line of a text that is not blank. Of the progress of a
// tool, each report is a line.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// fitted cuts a text to what a line has room for.
func (s *screen) fitted(text string, used int) string {
	return shorttext.Ellipsis(visible.Line(strings.TrimSpace(text)), max(8, s.out.Width()-used-4))
}

func (s *screen) clear() {
	if s.status {
		s.w.Erase()
		s.status = false
	}
}

// end ends a reply, and returns what was said.
func (s *screen) end(stopped bool) string {
	s.finish()
	s.fold()
	s.freshLine()
	if stopped {
		s.note("· stopped; the conversation continues")
	}
	s.w.Flush()
	return s.said.String()
}

// thoughts shows what the last reply thought.
func (s *screen) thoughts() {
	if s.thought.Len() == 0 {
		s.note("The last reply thought nothing.")
		return
	}
	s.note(s.thought.String())
}
