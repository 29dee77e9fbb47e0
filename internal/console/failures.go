package console

import (
	"context"
	"errors"
	"io/fs"
	"net/http"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/peers"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// A BadRequest is the error of a request that makes no sense.
type BadRequest struct{ Err error }

func (e BadRequest) Error() string { return e.Err.Error() }

func (e BadRequest) Unwrap() error { return e.Err }

// forPeople are the failures whose errors are written for who reads the page. Those of others
// are words of the program.
var forPeople = map[string]bool{"error.pruned": true, "error.elsewhere": true, "error.missing": true, "error.request": true, "error.record": true, "error.objects": true}

// failed answers a request that failed, with what to do about it.
func (c *Console) failed(w http.ResponseWriter, r *http.Request, at string, err error) {
	switch ctx := r.Context(); {
	case context.Cause(ctx) == errLoginEnded: // whoever asked is still there
		c.refuseLogin(w, r.WithContext(context.WithoutCancel(ctx)))
		return
	case ctx.Err() != nil:
		return
	}
	status, what := http.StatusInternalServerError, "error.failed"
	var bad BadRequest
	var away *sidecar.Failure
	switch {
	case errors.As(err, &away):
		status, what = http.StatusServiceUnavailable, "error.objects"
	case errors.Is(err, view.ErrPruned):
		status, what = http.StatusNotFound, "error.pruned"
	case errors.Is(err, view.ErrElsewhere):
		status, what = http.StatusNotFound, "error.elsewhere"
	case errors.Is(err, view.ErrNotFound), errors.Is(err, errNoPage):
		status, what = http.StatusNotFound, "error.missing"
	case errors.Is(err, errBusy):
		status, what = http.StatusServiceUnavailable, "error.busy"
	case errors.Is(err, conversation.ErrNotFound):
		status, what = http.StatusNotFound, "error.talk"
	case errors.Is(err, conversation.ErrUnreachable):
		status, what = http.StatusServiceUnavailable, "error.store"
	case errors.Is(err, errNoGateway):
		status, what = http.StatusNotFound, "error.nogateway"
	case errors.Is(err, peers.ErrAway):
		status, what = http.StatusServiceUnavailable, "error.away"
	case errors.Is(err, peers.ErrBusy):
		status, what = http.StatusServiceUnavailable, "error.busy"
	case errors.Is(err, errReading):
		status, what = http.StatusMethodNotAllowed, "error.reading"
	case errors.Is(err, errLogins):
		status, what = http.StatusServiceUnavailable, "error.logins"
	case errors.Is(err, errNoOperator):
		status, what = http.StatusForbidden, "error.nooperator"
	case errors.Is(err, errNoTalk):
		status, what = http.StatusForbidden, "error.notalk"
	case errors.Is(err, errNoConsent):
		status, what = http.StatusForbidden, "error.noconsent"
	case errors.As(err, &bad):
		status, what = http.StatusBadRequest, "error.request"
	case errors.Is(err, record.ErrSealed):
		status, what = http.StatusForbidden, "error.sealed"
	case errors.Is(err, errUnaudited):
		status, what = http.StatusServiceUnavailable, "error.audit"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		what = "error.record"
	}
	if status == http.StatusInternalServerError || away != nil {
		c.config.Log.Error("a page of the console failed", "path", r.URL.Path, "error", err.Error())
	}
	why := shorttext.Escape(err.Error(), MaxFault)
	if WantsJSON(r) {
		writeJSON(w, status, errorJSON(why))
		return
	}
	if !forPeople[what] { // the words of the page say it, and the log has the rest
		why = ""
	}
	c.render(w, r, status, at, Answer{Template: "error", Title: Word(what), Data: map[string]string{"What": Word(what), "Why": why, "Do": Word(what + ".do")}})
}
