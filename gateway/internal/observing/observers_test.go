package observing

import (
	"fmt"
	"net/http"
	"testing"
)

// The headers of an observer take the place of the client's, and its trace that of the
// exchange, also for the observers after it; without a trace the exchange keeps its own.
func TestHeadersOfObservers(t *testing.T) {
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	ended, seen := 0, ""
	one := func(header http.Header, heard func(*Report)) Observer {
		return Observer{Begun: func(x Exchange, _ http.Header) (http.Header, func(*Report)) {
			seen += x.Trace + "/" + x.Span + " "
			return header, heard
		}}
	}
	all := Observers{
		{}, one(http.Header{"x-a": {"1"}, "traceparent": {"none"}}, func(*Report) { ended++ }),
		one(http.Header{"X-B": {"2"}, "Traceparent": {"00-" + trace + "-" + span + "-01"}}, nil), one(nil, nil),
		{Ended: func(*Report) { ended += 10 }},
	}
	x := Exchange{Identity: Identity{Trace: "own", Span: "own"}}
	upstream, heard := all.Begun(&x, http.Header{})
	if want := "own/own own/own " + trace + "/" + span + " "; seen != want || x.Trace != trace || x.Span != span {
		t.Errorf("the observers saw %s, want %s; the exchange has %s/%s", seen, want, x.Trace, x.Span)
	}
	all.Ended(&Report{Exchange: x}, heard)
	if got := fmt.Sprint(upstream["X-A"], upstream["X-B"], len(heard), ended); got != "[1] [2] 1 11" {
		t.Error(got)
	}
}
