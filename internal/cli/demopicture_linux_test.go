package cli

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/testing/race"
	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
)

// shownReplies are the replies of sotto demo that are in the picture, by number.
var shownReplies = []string{"1", "2", "4", "10"}

// TestDemoPicture: the picture in README.md is what sotto demo writes to a terminal.
// -update draws it.
func TestDemoPicture(t *testing.T) {
	if race.Enabled || effort.Brief() && !*update {
		t.Skip("the demo takes 7 s, in which it mostly waits")
	}
	t.Parallel()
	out := terminaltest.OnTerminal(t, func(tty *os.File) {
		cmd := exec.Command("sotto", "demo")
		cmd.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "HOME=" + t.TempDir()}
		cmd.Stdout, cmd.Stderr = tty, tty
		if err := cmd.Run(); err != nil {
			t.Error(err)
		}
	})
	replies := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(out), "\r\n", "\n")), "\n\n\x1b[1m")
	text := "$ \x1b[1msotto demo\x1b[0m\n\n"
	for i, reply := range replies {
		reply = "\x1b[1m" + strings.TrimPrefix(reply, "\x1b[1m")
		number, _, _ := strings.Cut(strings.TrimPrefix(reply, "\x1b[1m"), ".")
		for _, shown := range shownReplies {
			if number == shown {
				text += reply + "\n\n"
			}
		}
		if i == len(replies)-1 {
			text += "\x1b[2m…\x1b[0m\n" + reply[strings.LastIndex(reply, "\n")+1:] + "\n"
		}
	}
	const name = "../../docs/images/demo.svg"
	picture := terminalSVG(text, 104)
	if *update {
		if err := os.WriteFile(name, []byte(picture), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(name); err != nil || string(want) != picture {
		t.Errorf("%s is not what sotto demo writes (go test ./internal/cli -run TestDemoPicture -update): %v", name, err)
	}
}

// The classes of the styles that the command line uses.
var svgStyles = map[string]string{"0": "", "1": "b", "2": "d", "3": "i", "36": "t", "2;9": "s"}

var svgSequence = lazyregexp.New("\x1b\\[([0-9;]*)m")

// The sizes of a character in the picture.
const (
	svgWidth  = 8.4
	svgHeight = 20
	svgMargin = 18
)

// fitting returns the beginning of a run that fits into a line, up to a space if it
// is longer.
func fitting(run string, room int) string {
	if utf8.RuneCountInString(run) <= room {
		return run
	}
	piece := string([]rune(run)[:room])
	if at := strings.LastIndexByte(piece, ' '); at > 0 {
		return piece[:at+1]
	}
	return piece
}

// terminalSVG draws what a terminal shows. It has a background of its own, so that it
// can be read on light and dark pages. Each run of characters has its place and its
// length, so that the columns hold in any font.
func terminalSVG(text string, columns int) string {
	var body strings.Builder
	row := 0
	for line := range strings.Lines(text) {
		row++
		column, class := 0, ""
		put := func(run string) {
			for run != "" {
				piece := fitting(run, columns-column)
				n := utf8.RuneCountInString(piece)
				if strings.TrimSpace(piece) != "" {
					fmt.Fprintf(&body, `<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>`+"\n",
						svgMargin+float64(column)*svgWidth, svgMargin+row*svgHeight-5, float64(n)*svgWidth, class, html.EscapeString(piece))
				}
				if column, run = column+n, run[len(piece):]; run != "" {
					row, column = row+1, 0
				}
			}
		}
		line = strings.TrimSuffix(line, "\n")
		for line != "" {
			at := svgSequence.FindStringSubmatchIndex(line)
			if at == nil {
				put(line)
				break
			}
			put(line[:at[0]])
			if c := svgStyles[line[at[2]:at[3]]]; c != "" {
				class = ` class="` + c + `"`
			} else {
				class = ""
			}
			line = line[at[1]:]
		}
	}
	width, height := float64(columns)*svgWidth+2*svgMargin, row*svgHeight+2*svgMargin
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" width="%.0f" height="%d" role="img" aria-label="The output of sotto demo">
<style>
text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e6edf3; white-space: pre }
.b { font-weight: 700 } .d { fill: #9198a1 } .i { font-style: italic } .t { fill: #56d4dd } .s { fill: #9198a1; text-decoration: line-through }
</style>
<rect x=".5" y=".5" width="%.0f" height="%d" rx="8" fill="#0d1117" stroke="#30363d"/>
%s</svg>
`, width, height, width, height, width-1, height-1, body.String())
}
