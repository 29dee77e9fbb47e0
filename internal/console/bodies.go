package console

import (
	"fmt"
	"mime"
	"net/http"

	"github.com/sotto-llm/sotto/internal/net/serving"
)

const (
	// maxArriving bounds the bodies that are on their way: of those who have logged in, and
	// of logins. maxHeld bounds the bytes of the former.
	maxArriving = 256
	maxHeld     = 256 << 20
)

// whole reads the body of a request before a handler works on it: one that never ends holds
// no place of those for the work. If the body does not arrive, it answers the request.
func whole(w http.ResponseWriter, r *http.Request, from *serving.Arrivals, caller string, limit int64) (_ *http.Request, done func(), ok bool) {
	if r.Method != http.MethodPost {
		return r, func() {}, true
	}
	data, done, err := from.Take(w, r, caller, limit)
	if err == nil {
		return serving.WithBody(r, data), done, true
	}
	refuseBody(w, r, serving.StatusOf(err), limit)
	return r, nil, false
}

// refuseBody answers a request whose body did not arrive, with JSON if it sends JSON.
func refuseBody(w http.ResponseWriter, r *http.Request, status int, limit int64) {
	why := "the request cannot be read"
	switch status {
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "5")
		why = serving.ErrBusy.Error()
	case http.StatusRequestTimeout:
		why = "the body of the request took too long"
	case http.StatusRequestEntityTooLarge:
		why = fmt.Sprintf("the body of the request is larger than %d bytes", limit)
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind == "application/json" {
		writeJSON(w, status, errorJSON(why))
		return
	}
	refuse(w, r, status, why)
}
