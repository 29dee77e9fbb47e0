package model

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// Reasons why a reply failed that do not come from the server's own error.
var (
	// ErrBrokenOff is the error of a reply that ended before it was finished.
	ErrBrokenOff = errors.New("the reply broke off")
	// ErrSilent is the error of a server that sent nothing for Config.Silence.
	ErrSilent = errors.New("the server was silent for too long")
	// ErrTooLarge is the error of a reply that exceeded Config.Limits.
	ErrTooLarge = errors.New("the reply is too large")
	// ErrUnreadable is the error of a reply that its API would not send.
	ErrUnreadable = errors.New("the reply cannot be read")
	// ErrNoReply is the error of a request for which a script has no reply.
	ErrNoReply = errors.New("the script has no reply")
)

// An Error says why a server gave no reply, or an incomplete one.
type Error struct {
	Provider, Model string
	// Status is the HTTP status. It is 0 if there is none, as for an error in the
	// middle of a stream that names none.
	Status int
	// Type and Code are the server's words for the kind of error.
	Type, Code string
	// Message is what the server said, shortened, in one line of printable text.
	Message string
	// Retryable says that the same request may succeed later.
	Retryable bool
	// RetryAfter is how long the server asks the client to wait; 0 if it does not
	// say.
	RetryAfter time.Duration
	// Err is the cause, if the server did not report the error: one of the errors
	// above, or the connection's.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Provider)
	if e.Model != "" && e.Model != e.Provider {
		b.WriteString(" " + e.Model)
	}
	if e.Status != 0 {
		fmt.Fprintf(&b, ": status %d", e.Status)
		if text := http.StatusText(e.Status); text != "" {
			b.WriteString(" " + text)
		}
	}
	for _, word := range slices.Compact([]string{e.Type, e.Code}) {
		if word != "" {
			b.WriteString(": " + word)
		}
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// A Kind says what helps against an error, if nothing of a reply has come.
type Kind string

const (
	// KindOther is an error of this request, or one that may be: another request may
	// succeed now.
	KindOther Kind = ""
	// KindOutage means that the server is away, starting or overloaded: wait.
	KindOutage Kind = "outage"
	// KindRateLimit means that the client has asked too often: wait.
	KindRateLimit Kind = "rate_limit"
	// KindRefused means that the server does not know the model or the key, or does
	// not serve this client. Waiting does not help.
	KindRefused Kind = "refused"
)

// Kind returns the kind of the error. A status of 500 without Retry-After is
// KindOther, since many servers answer so to a request that they cannot process.
func (e *Error) Kind() Kind {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound:
		return KindRefused
	case http.StatusTooManyRequests:
		if !e.Retryable {
			return KindRefused // the quota is spent
		}
		return KindRateLimit
	case 0:
		return e.kindOfStream()
	case http.StatusInternalServerError:
		if e.RetryAfter <= 0 {
			return KindOther
		}
	}
	if e.Retryable {
		return KindOutage
	}
	return KindOther
}

// kindOfStream returns the kind of an error without a status.
func (e *Error) kindOfStream() Kind {
	word := func(list ...string) bool { return slices.Contains(list, e.Type) || slices.Contains(list, e.Code) }
	switch {
	case word("rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"):
		return KindRateLimit
	case word("overloaded_error", "timeout_error", "UNAVAILABLE"):
		return KindOutage
	case word(spent...):
		return KindRefused
	case errors.Is(e.Err, ErrTooLarge), errors.Is(e.Err, ErrUnreadable), errors.Is(e.Err, ErrNoReply), e.Err == nil:
		return KindOther
	}
	return KindOutage // of the connection
}

// maxMessage bounds how much of a server's text an error quotes, in bytes.
const maxMessage = 500

// clean makes a server's text fit for an error: one line without control
// characters, of bounded length.
func clean(text string) string {
	text = text[:min(len(text), 4*maxMessage)]
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = shorttext.OneLine(text)
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}

// passing are types of temporary errors, if they come without a status.
var passing = []string{
	"overloaded_error", "rate_limit_error", "api_error", "timeout_error", "server_error", "rate_limit_exceeded",
	"UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL",
}

// spent are the codes of limits that waiting does not lift.
var spent = []string{"insufficient_quota", "billing_hard_limit_reached"}

// said reads an error in any of the forms that servers use:
//
//	{"error": {"message", "type", "code"}}             OpenAI, and its kind
//	{"type": "error", "error": {"type", "message"}}    Anthropic
//	{"error": "…"}                                     Ollama
//	[{"error": {"code", "message", "status"}}]         Google
//	{"object": "error", "message", "type", "code"}     vLLM
//	{"detail": "…"}                                    FastAPI
//
// An error in another form is quoted.
func said(status int, body []byte) *Error {
	e := &Error{Status: status}
	root, _ := foreignjson.Parse(body) // what is not JSON is quoted
	if root.IsArray() {
		root = root.Get("0")
	}
	at := root.Get("error")
	switch {
	case at.IsObject():
	case at.Type == gjson.String:
		e.Message = clean(at.Str)
	default:
		at = root
	}
	if at.IsObject() {
		e.Message = clean(first(at, "message", "detail"))
		e.Type = clean(first(at, "type", "status"))
		e.Code = clean(first(at, "code"))
	}
	if e.Message == "" && e.Type == "" {
		e.Message = clean(string(body[:min(len(body), 4*maxMessage)]))
	}
	if n, err := strconv.Atoi(e.Code); err == nil && n >= 400 && n < 600 { // a code that is the status
		e.Code = ""
		if e.Status < 400 {
			e.Status = n
		}
	}
	if e.Status < 400 {
		e.Status = 0
	}
	e.Retryable = retry.Status(e.Status) || e.Status == 0 && (slices.Contains(passing, e.Type) || slices.Contains(passing, e.Code))
	if slices.Contains(spent, e.Code) || slices.Contains(spent, e.Type) {
		e.Retryable = false
	}
	return e
}

// first returns the first of an object's members that is not empty.
func first(o gjson.Result, names ...string) string {
	for _, name := range names {
		if v := o.Get(name); v.Exists() && v.Type != gjson.Null && v.String() != "" {
			return v.String()
		}
	}
	return ""
}
