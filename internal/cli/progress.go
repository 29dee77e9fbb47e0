package cli

import (
	"time"

	"github.com/schollz/progressbar/v3"
)

// A progress shows how far a batch has come: on a terminal, and where the
// length is known.
type progress struct{ bar *progressbar.ProgressBar }

func newProgress(sh *shell, in *input) *progress {
	size := in.size()
	// Where the output is a terminal too, the lines themselves show it.
	if size == 0 || !isTerminal(sh.rawErr) || isTerminal(sh.rawOut) {
		return &progress{}
	}
	return &progress{progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(sh.rawErr),
		progressbar.OptionSetDescription(in.name),
		progressbar.OptionShowBytes(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionUseANSICodes(true),
	)}
}

// advance notes that n more bytes are done.
func (p *progress) advance(n int) {
	if p.bar != nil {
		p.bar.Add(n)
	}
}

// clear takes the bar off the line, for a message or for good.
func (p *progress) clear() {
	if p.bar != nil {
		p.bar.Clear()
	}
}
