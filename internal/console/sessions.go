package console

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sotto-llm/sotto/internal/console/runview"
	"github.com/sotto-llm/sotto/internal/shorttext"
)

func sessionsScreen() screen {
	return screen{path: "sessions", under: "runs", routes: map[string]handler{"": session}}
}

// sessionData is what the page of a session shows.
type sessionData struct {
	*runview.Session
	Now   time.Time
	Older string // the link to earlier turns
	First bool
}

func session(c *Console, r *http.Request) (answer, error) {
	q, err := runview.ParseSession(r.URL.Query())
	if err != nil {
		return answer{}, badRequest{err}
	}
	s, err := c.runs.Session(r.Context(), q)
	if err != nil {
		return answer{}, err
	}
	d := sessionData{Session: s, Now: c.config.Now(), First: q.Before == 0}
	if s.Older > 0 {
		d.Older = "sessions?" + url.Values{"id": {q.ID}, "before": {strconv.FormatUint(s.Older, 10)}}.Encode()
	}
	name := q.ID
	if q.Run != "" {
		name = q.Run
	}
	crumbs := []crumb{{word("screen.runs"), "runs"}, {Name: word("screen.sessions")}}
	if name != "" {
		crumbs = []crumb{{word("screen.runs"), "runs"}, {word("screen.sessions"), "sessions"}, {Name: shorttext.Cut(name, maxCrumb)}}
	}
	return answer{template: "session", title: word("screen.sessions"), crumbs: crumbs, data: d, json: s, live: d.First && name != ""}, nil
}
