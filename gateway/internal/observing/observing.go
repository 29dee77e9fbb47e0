// Package observing says what is observed of an exchange: one value of facts, and the
// observers that take it. They write the line of the log, count the metrics, and write the
// figures that the client gets. None of them sees a text of the request or of the reply, and
// none changes the exchange.
package observing

import (
	"net/url"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/record"
)

// An Exchange is what is known of an exchange when it begins. Every name is fit to be shown.
type Exchange struct {
	Identity
	API, Model, Route, Dialect string
	UpstreamAPI                string   // that the upstream speaks, if it is another
	LeftOut                    []string // the members of the request, and after "reply." of the reply, that have no counterpart in the other API
	Caller                     string   // the name of its token, if there are tokens
	Upstream                   string   // its name
	Address                    *url.URL // of the upstream
	Began                      time.Time
	Streaming                  bool // the request asks for a stream
	Size                       int  // bytes of the request, as it goes to the upstream
	Display                    routing.Display
	OnFailure                  guard.Failure // of the guard
}

// A Report says what an exchange was. All of it is known when the exchange has ended; until
// then it says what is known so far.
type Report struct {
	Exchange

	Outcome  string // answered, refused, failed or canceled; empty before the end
	Took     time.Duration
	Err      error          // why it failed, if it did
	Name     faultname.Name // of the error
	Status   int
	Streamed bool
	Complete bool   // all of the reply was read and written
	Retries  int    // how often the request was sent again
	Path     string // at the upstream, if the upstream has no such path

	Replied time.Time // when the header of the upstream's response came
	// When the first of each came in a stream. The parts of a whole reply have no moments of
	// their own.
	FirstThought, FirstAnswer, FirstCall time.Time

	ResponseID     string // of the reply, as the provider knows it
	Start          sotto.Beginning
	Bytes, Leaked  int // of the model's texts, and of the reasoning that stood in them
	Thought, Text  int // bytes that the client got, or with the display hide would have got
	BeganInside    bool
	Codes          []sotto.Code
	Findings       string // the same and more, for people
	Ends           []sotto.Ending
	Calls          []string // the names of the tools that the reply calls
	Moved, Left    int      // calls in texts: those moved into the API's field, and the others
	Stopped        sotto.Code
	Filtered       bool // the guard has ended the reply
	JSONFences     bool
	JSONMissing    string // the layer that is at fault if the reply is not the JSON that was asked for
	Held           time.Duration
	Counted, Usage *record.Usage // as the provider counted; in Usage reasoning is estimated if it did not
	Spent          Spent

	History History
	// Switched says how the request's control of thinking was translated, and SwitchGrade how
	// much of it was kept. They are empty if it was not.
	Switched, SwitchGrade string
}

// Spent are the tokens of an exchange.
type Spent struct {
	Input, Output int64
	Counted       bool // by the provider; otherwise they are estimated
}

// BytesPerToken is used to estimate tokens from bytes.
const BytesPerToken = 4

// A History says what was done to the reasoning of earlier messages.
type History struct {
	First                     bool // there are no earlier messages
	Removed, Restored, Missed int
	Changed                   bool
	DryRun                    bool   // nothing was done, it was only planned
	Plan                      string // for people
}

// HistoryFirst is what was done if there are no earlier messages.
const HistoryFirst = "first"

// Done says what was done in one word.
func (h *History) Done() string {
	switch {
	case h.First:
		return HistoryFirst
	case h.DryRun || h.Removed == 0 && h.Restored == 0:
		return "kept"
	case h.Removed > 0:
		return "removed"
	}
	return "restored"
}

// Since returns the time from the request to a moment, or 0 if there was no such moment.
func (r *Report) Since(moment time.Time) time.Duration {
	if moment.IsZero() {
		return 0
	}
	return max(moment.Sub(r.Began), 1)
}

// What becomes of reasoning that stands in the text of a reply.
const (
	LeakCorrected = "corrected"
	LeakPassed    = "passed" // because the display is keep
)

// Leak says what became of reasoning that stood in the text of the reply. It is empty if
// there was none.
func (r *Report) Leak() string {
	switch {
	case r.Leaked == 0:
		return ""
	case r.Display == routing.DisplayKeep:
		return LeakPassed
	}
	return LeakCorrected
}

// leakKind is the form that the reasoning in the text had.
func (r *Report) leakKind() string {
	for _, code := range r.Codes {
		switch code {
		case sotto.CodeOrphanClose, sotto.CodeTruncated, sotto.CodeAssumedUnclosed:
			return string(code)
		}
	}
	if r.BeganInside {
		return "pre_opened"
	}
	return "block"
}

// Millis rounds up, so that a short time does not count as none.
func Millis(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
