package wire

import (
	"net/http"
	"time"
)

// LimitHeaders is a codec of an API whose responses say in their headers what is left of a
// client's limits.
type LimitHeaders interface {
	// SetLimits sets the headers, in place of those that are there.
	SetLimits(h http.Header, left []LimitLeft)
}

// A LimitLeft is what is left to a client of one of its limits a minute.
type LimitLeft struct {
	Limit      string // what is limited: "requests" or "tokens"
	Most, Left int
	Full       time.Duration // when all of it will be there again
}
