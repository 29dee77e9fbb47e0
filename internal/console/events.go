package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

// eventsScreen has a page for each event, of whatever kind.
func eventsScreen() Screen {
	return Screen{Path: "events", Under: "exchanges", Routes: map[string]Handler{"{event}": showEvent, "{event}/text": eventText}}
}

// eventData is what the page of an event shows.
type eventData struct {
	*view.Event
	Now   time.Time
	Runs  bool // the console has the screen of runs
	Trace Trace
}

// Within is the address of the place of the event in its run.
func (d eventData) Within() string {
	n := strconv.FormatUint(d.Event.Event, 10)
	return "../runs/" + RunToken(d.Run) + "?at=" + n + "#e" + n
}

func showEvent(c *Console, r *http.Request) (Answer, error) {
	seq, err := eventOf(r)
	if err != nil {
		return Answer{}, err
	}
	e, err := c.source.Event(r.Context(), seq)
	if err != nil {
		return Answer{}, err
	}
	if e.Type == record.TypeExchange || e.Type == record.TypeInvocation {
		return Answer{Redirect: besides(r, "../exchanges/"+strconv.FormatUint(seq, 10))}, nil
	}
	d := eventData{Event: e, Now: c.config.Now(), Runs: c.has("runs"), Trace: Trace{Steps: e.Steps, Root: "../", Runs: c.has("runs"), Own: seq}}
	return Answer{
		Template: "event", Title: fmt.Sprintf("%s #%d", kindOf(e.Type), seq), Data: d, JSON: e, Seen: []uint64{seq},
		Crumbs: []Crumb{{Word("screen.exchanges"), "../exchanges"}, {Name: kindOf(e.Type) + " #" + strconv.FormatUint(seq, 10)}},
	}, nil
}

// besides is an address that a request for JSON is led to as well.
func besides(r *http.Request, to string) string {
	if WantsJSON(r) {
		to += "?format=json"
	}
	return to
}

// kindOf names a kind of events in plain words.
func kindOf(t record.Type) string {
	switch t {
	case record.TypeRunStart:
		return Word("event.runstart")
	case record.TypeCycleStart:
		return Word("event.cyclestart")
	case record.TypeToolCall:
		return Word("event.toolcall")
	case record.TypeConsent:
		return Word("event.consent")
	case record.TypeExtraction:
		return Word("event.extraction")
	case record.TypeMemory:
		return Word("event.memory")
	case record.TypeAdvisory:
		return Word("event.advisory")
	case record.TypeError:
		return Word("event.error")
	case record.TypeCycleEnd:
		return Word("event.cycleend")
	case record.TypeRunEnd:
		return Word("event.runend")
	case record.TypeAudit:
		return Word("event.audit")
	case record.TypeCheckpoint:
		return Word("event.checkpoint")
	}
	return strings.ToLower(strings.ReplaceAll(string(t), "_", " "))
}

// textData is what the page of one text of an event shows.
type textData struct {
	*view.Slice
	Path       string
	Prev, Next string
}

// eventText shows a text of an event by its path, with the place that was asked for.
func eventText(c *Console, r *http.Request) (Answer, error) {
	seq, err := eventOf(r)
	if err != nil {
		return Answer{}, err
	}
	path := r.URL.Query().Get("path")
	if path == "" || len(path) > MaxAsked {
		return Answer{}, BadRequest{errors.New("path: want the place of a text in the event, such as result")}
	}
	at, err := numberIn(r, "at")
	if err != nil {
		return Answer{}, err
	}
	end, err := numberIn(r, "end")
	if err != nil {
		return Answer{}, err
	}
	s, err := c.source.Text(r.Context(), seq, path, at)
	if err != nil {
		return Answer{}, err
	}
	if end > 0 {
		s.Mark(at, end)
	}
	d := textData{Slice: s, Path: path}
	to := func(number int) string {
		return "text?" + url.Values{"path": {path}, "at": {strconv.Itoa((number - 1) * view.SliceSize)}}.Encode()
	}
	if s.Number > 1 {
		d.Prev = to(s.Number - 1)
	}
	if s.Number < s.Slices() {
		d.Next = to(s.Number + 1)
	}
	n := strconv.FormatUint(seq, 10)
	return Answer{
		Template: "text", Title: fmt.Sprintf("%s #%d", Word("event.text"), seq), Data: d, JSON: s, Seen: []uint64{seq},
		Crumbs: []Crumb{{Word("screen.exchanges"), "../../exchanges"}, {"#" + n, "../" + n}, {Name: Word("event.text")}},
	}, nil
}

// numberIn reads a number of the query; 0 if it is not there.
func numberIn(r *http.Request, name string) (n int, err error) {
	if text := r.URL.Query().Get(name); text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 0 {
			return 0, BadRequest{fmt.Errorf("%s: %s: want a number", name, shorttext.Quote(text))}
		}
	}
	return n, nil
}
