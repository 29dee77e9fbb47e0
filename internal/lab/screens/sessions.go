package screens

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/lab/runview"
)

// sessionData is what the page of a session shows.
type sessionData struct {
	*runview.Session
	Now   time.Time
	Older string // the link to earlier turns
	First bool
}

// Story is the session as the page shows it.
func (d sessionData) Story() console.Trace { return console.Trace{Steps: d.Steps, Runs: true} }

func (of *lab) session(c *console.Console, r *http.Request) (console.Answer, error) {
	if run := r.URL.Query().Get("run"); run != "" && len(run) <= console.MaxAsked { // the turns of a run are on its page
		return console.Answer{Redirect: "runs/" + console.RunToken(run)}, nil
	}
	q, err := runview.ParseSession(r.URL.Query())
	if err != nil {
		return console.Answer{}, console.BadRequest{Err: err}
	}
	s, err := of.runs.Session(r.Context(), q)
	if err != nil {
		return console.Answer{}, err
	}
	d := sessionData{Session: s, Now: c.Now(), First: q.Before == 0}
	if s.Older > 0 {
		d.Older = "sessions?" + url.Values{"id": {q.ID}, "before": {strconv.FormatUint(s.Older, 10)}}.Encode()
	}
	name := q.ID
	crumbs := []console.Crumb{{Name: console.Word("screen.runs"), Link: "runs"}, {Name: console.Word("screen.sessions")}}
	if name != "" {
		crumbs = []console.Crumb{{Name: console.Word("screen.runs"), Link: "runs"}, {Name: console.Word("screen.sessions"), Link: "sessions"}, {Name: shorttext.Cut(name, console.MaxCrumb)}}
	}
	return console.Answer{Template: "session", Title: console.Word("screen.sessions"), Crumbs: crumbs, Data: d, JSON: s, Seen: console.ThoughtsIn(s.Steps), Live: d.First && name != ""}, nil
}
