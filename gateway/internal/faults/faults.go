// Package faults has the errors that end a request, and what a client, a log and a record
// learn of them.
package faults

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// A Request is a fault of the client's request.
type Request struct {
	Name   faultname.Name
	Status int
	Err    error
}

// New returns a fault that is answered with a name and a status.
func New(name faultname.Name, status int, err error) *Request { return &Request{name, status, err} }

func (e *Request) Error() string { return e.Err.Error() }
func (e *Request) Unwrap() error { return e.Err }

// usual is the codec whose form errors have that belong to no API: OpenAI's.
var usual = providers.Codecs()[0]

// Refuse answers with an error in the provider's own JSON format. Its name is in the
// header; without one, the header stays as it is.
func Refuse(w http.ResponseWriter, c wire.Codec, name faultname.Name, status int, message string) {
	RefuseAs(w, c, name, &wire.Fault{Status: status, Text: message})
}

// RefuseAs answers with a fault in the provider's own JSON format.
func RefuseAs(w http.ResponseWriter, c wire.Codec, name faultname.Name, f *wire.Fault) {
	if c == nil {
		c = usual
	}
	if c, ok := c.(wire.ErrorHeader); ok {
		w.Header().Set(c.ErrorHeader(f.Status))
	}
	plain := wire.Fault{Status: f.Status, TooLong: f.TooLong, Text: Plain(f.Text)}
	RefuseWith(w, name, f.Status, wire.ErrorOf(c, &plain))
}

// RefuseWith answers with an error that is in the provider's own JSON format.
func RefuseWith(w http.ResponseWriter, name faultname.Name, status int, body []byte) {
	faultname.Set(w.Header(), name)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}

// OneOf returns what is wrong with a setting that has none of its values. An empty one is left open.
func OneOf[T ~string](v T, all []T) error {
	if v == "" || slices.Contains(all, v) {
		return nil
	}
	words := make([]string, len(all))
	for i, a := range all {
		words[i] = string(a)
	}
	return fmt.Errorf("%q: want one of %s", string(v), strings.Join(words, ", "))
}
