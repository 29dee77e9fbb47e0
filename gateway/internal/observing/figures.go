package observing

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/gateway/routing"
)

// FiguresHeader is where a reply says how much of it was reasoning, and what that cost: a
// header of a whole reply, and a trailer of a stream, whose figures are known at its end.
const FiguresHeader = "Sotto-Figures"

// Figures are those of a reply that was read, as one line of ASCII. What reasoning has
// been hidden is not counted for the client.
func (r *Report) Figures() string {
	var list []string
	add := func(name string, v any) { list = append(list, fmt.Sprintf("%s=%v", name, v)) }
	hidden := r.Display == routing.DisplayHide
	if !hidden {
		add("reasoning", r.Thought)
	}
	add("text", r.Text)
	if !hidden && r.Thought+r.Text > 0 {
		add("share", fmt.Sprintf("%.3f", float64(r.Thought)/float64(r.Thought+r.Text)))
	}
	if d := r.Since(r.FirstThought); d > 0 && !hidden {
		add("first-thought-ms", Millis(d))
	}
	if d := r.Since(r.FirstAnswer); d > 0 {
		add("first-answer-ms", Millis(d))
	}
	if leak := r.Leak(); leak != "" && !hidden {
		add(leak, r.Leaked)
	}
	if u := r.Counted; u != nil && u.Input > 0 {
		add("prompt-tokens", u.Input)
		add("cached-tokens", max(u.CacheRead, 0))
	}
	add("history", r.History.Done())
	return strings.Join(list, "; ")
}

// WantsTrailers reports whether the sender of a request reads trailers.
func WantsTrailers(r *http.Request) bool {
	for code := range strings.SplitSeq(strings.Join(r.Header["Te"], ","), ",") {
		if strings.EqualFold(strings.TrimSpace(code), "trailers") {
			return true
		}
	}
	return false
}

// AddTrailer announces the figures of a stream as a trailer, and sends them at its end.
func AddTrailer(resp *http.Response, figures func() string) {
	if resp.Trailer == nil {
		resp.Trailer = http.Header{}
	}
	resp.Trailer[FiguresHeader] = nil
	resp.Body = &figured{resp.Body, figures, resp}
}

// A figured body is a stream whose trailer is written when all of it was read.
type figured struct {
	io.ReadCloser
	figures func() string
	resp    *http.Response
}

func (b *figured) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF && b.resp.Trailer != nil {
		b.resp.Trailer.Set(FiguresHeader, b.figures())
	}
	return n, err
}
