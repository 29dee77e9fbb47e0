package shell

import (
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
)

// A Progress shows how far work has come, on a terminal and if the length is known.
// The zero Progress shows nothing.
type Progress struct{ bar *progressbar.ProgressBar }

// NewProgress shows how much of an input has been read.
func NewProgress(sh *Shell, in *Input) *Progress {
	// If the output is a terminal too, the lines themselves show progress.
	if sh.Out.TTY {
		return &Progress{}
	}
	return newBar(sh, in.Name, in.size(), progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true))
}

// NewCountProgress shows how many of n items are done.
func NewCountProgress(sh *Shell, name string, n, done int) *Progress {
	p := newBar(sh, name, int64(n), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true))
	p.Advance(done)
	return p
}

// newBar makes a bar on standard error if it is a terminal.
func newBar(sh *Shell, name string, length int64, options ...progressbar.Option) *Progress {
	if length <= 0 || !sh.Err.TTY {
		return &Progress{}
	}
	return &Progress{progressbar.NewOptions64(length, append([]progressbar.Option{
		progressbar.OptionSetWriter(barWriter{sh.Err.terminal}),
		progressbar.OptionSetDescription(shorttext.Columns(visible.Line(name), 40)),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionUseANSICodes(true),
	}, options...)...)}
}

// Advance notes that n more are done.
func (p *Progress) Advance(n int) {
	if p.bar != nil {
		p.bar.Add(n)
	}
}

// Set notes that n are done.
func (p *Progress) Set(n int) {
	if p.bar != nil {
		p.bar.Set(n)
	}
}

// Clear removes the bar from the line, for a message or for good.
func (p *Progress) Clear() {
	if p.bar != nil {
		p.bar.Clear()
	}
}

// A barWriter writes a bar. It passes on only the control sequences that redraw a
// bar on its own line.
type barWriter struct{ *terminal }

var barSequences = []string{"\r", "\x1b[0K", "\x1b[2K"}

func (w barWriter) Write(p []byte) (int, error) {
	var e visible.Escaper
	var out []byte
	for text := string(p); text != ""; {
		own := ""
		for _, s := range barSequences {
			if strings.HasPrefix(text, s) {
				own = s
			}
		}
		if own != "" {
			out, text = append(out, own...), text[len(own):]
			continue
		}
		n := strings.IndexAny(text[1:], "\r\x1b") + 1
		if n == 0 {
			n = len(text)
		}
		out, text = e.Append(out, []byte(text[:n]), true), text[n:]
	}
	if _, err := w.verbatim(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
