package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/gateway/routing"
)

// figuresHeader is where a reply says how much of it was reasoning, and what that cost: a
// header of a whole reply, and a trailer of a stream, whose figures are known at its end.
const figuresHeader = "Sotto-Figures"

// figures are those of a reply that was read, as one line of ASCII. What reasoning has
// been hidden is not counted for the client.
func (x *exchange) figures() string {
	var list []string
	add := func(name string, v any) { list = append(list, fmt.Sprintf("%s=%v", name, v)) }
	thought, text := x.reading.Given()
	hidden := x.route.Display == routing.DisplayHide
	if !hidden {
		add("reasoning", thought)
	}
	add("text", text)
	if !hidden && thought+text > 0 {
		add("share", fmt.Sprintf("%.3f", float64(thought)/float64(thought+text)))
	}
	if d := x.since(x.reading.FirstThought); d > 0 && !hidden {
		add("first-thought-ms", millis(d))
	}
	if d := x.since(x.reading.FirstAnswer); d > 0 {
		add("first-answer-ms", millis(d))
	}
	if leak := x.leak(); leak != "" && !hidden {
		add(leak, x.reading.Reasoning)
	}
	if u := x.reading.Tokens.Usage(); u != nil && u.Input > 0 {
		add("prompt-tokens", u.Input)
		add("cached-tokens", max(u.CacheRead, 0))
	}
	add("history", historyDone(x))
	return strings.Join(list, "; ")
}

// leak says what became of reasoning that stood in the text of a reply. It is empty if
// there was none.
func (x *exchange) leak() string {
	switch {
	case x.reading.Reasoning == 0:
		return ""
	case x.route.Display == routing.DisplayKeep:
		return leakPassed
	}
	return leakCorrected
}

// What becomes of reasoning that stands in the text of a reply.
const (
	leakCorrected = "corrected"
	leakPassed    = "passed" // because the display is keep
)

// wantsTrailers reports whether the sender of a request reads trailers.
func wantsTrailers(r *http.Request) bool {
	for code := range strings.SplitSeq(strings.Join(r.Header["Te"], ","), ",") {
		if strings.EqualFold(strings.TrimSpace(code), "trailers") {
			return true
		}
	}
	return false
}

// addTrailer announces the figures of a stream as a trailer, and sends them at its end.
func (x *exchange) addTrailer(resp *http.Response) {
	if resp.Trailer == nil {
		resp.Trailer = http.Header{}
	}
	resp.Trailer[figuresHeader] = nil
	resp.Body = &figured{resp.Body, x, resp}
}

// A figured body is a stream whose trailer is written when all of it was read.
type figured struct {
	io.ReadCloser
	x    *exchange
	resp *http.Response
}

func (b *figured) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && b.resp.Trailer != nil {
		b.resp.Trailer.Set(figuresHeader, b.x.figures())
	}
	return n, err
}
