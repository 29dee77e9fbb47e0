package cli

import (
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A progress shows how far work has come: on a terminal, and where the length is
// known. The zero progress shows nothing.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress shows how much of an input is read.
func newProgress(sh *shell, in *input) *progress {
	// Where the output is a terminal too, the lines themselves show it.
	if sh.out.tty {
		return &progress{}
	}
	return newBar(sh, in.name, in.size(), progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true))
}

// newCountProgress shows how many of n are done.
func newCountProgress(sh *shell, name string, n, done int) *progress {
	p := newBar(sh, name, int64(n), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true))
	p.advance(done)
	return p
}

// newBar makes a bar on standard error, if that is a terminal.
func newBar(sh *shell, name string, length int64, options ...progressbar.Option) *progress {
	if length <= 0 || !sh.err.tty {
		return &progress{}
	}
	return &progress{progressbar.NewOptions64(length, append([]progressbar.Option{
		progressbar.OptionSetWriter(barWriter{sh.err.terminal}),
		progressbar.OptionSetDescription(shorten(visible(name), 40)),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionUseANSICodes(true),
	}, options...)...)}
}

// advance notes that n more are done.
func (p *progress) advance(n int) {
	if p.bar != nil {
		p.bar.Add(n)
	}
}

// set notes that n are done.
func (p *progress) set(n int) {
	if p.bar != nil {
		p.bar.Set(n)
	}
}

// clear takes the bar off the line, for a message or for good.
func (p *progress) clear() {
	if p.bar != nil {
		p.bar.Clear()
	}
}

// A barWriter writes a bar. Of control sequences it passes on those with which a
// bar is drawn anew on its own line.
type barWriter struct{ *terminal }

var barSequences = []string{"\r", "\x1b[0K", "\x1b[2K"}

func (w barWriter) Write(p []byte) (int, error) {
	var e escaper
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
		out, text = e.append(out, []byte(text[:n]), true), text[n:]
	}
	if _, err := w.verbatim(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
