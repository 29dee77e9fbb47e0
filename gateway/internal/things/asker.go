package things

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/base/lograte"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/owners"
)

// An Asker is a caller who may use only what it made itself at the upstream: one without
// the scope of operators. A nil Asker may use everything.
type Asker struct {
	Caller string
	Owners *owners.Store
	Log    *slog.Logger
	Denied *lograte.Limit // how often the log says that somebody asked for what is not theirs
}

// errNotOwn answers a request for a thing of another caller. It says the same of a thing
// that does not exist, so that nobody can find out ids.
var errNotOwn = faults.New(faultname.NotYours, http.StatusNotFound, errors.New("nothing that this caller made has this id"))

// owns returns nil if the asker made a thing.
func (a *Asker) owns(kind, id string) error {
	if id != "" && a.Caller != "" && a.Owners.Of(kind, id) == a.Caller {
		return nil
	}
	text, log := "a caller without the scope operator asked for what it did not make, or what was made before owners were noted", a.Log.Debug
	if a.Denied.Now(a.Caller + " " + kind) {
		log = a.Log.Warn
	}
	log(text, "caller", a.Caller, "kind", kind, "scope", string(access.Operator))
	return errNotOwn
}

// Path checks what the path and the query of a request name.
func (a *Asker) Path(r *http.Request, e *endpoints.Endpoint) error {
	if a == nil || e.Kind == endpoints.Own || e.Kind == endpoints.Probe {
		return nil
	}
	id, one := "", false
	list := e.Of
	if e.Of != "" {
		if id, one = e.Thing(r.URL); one {
			list = ""
		}
	}
	if err := a.query(r.URL.Query(), list); err != nil || e.Of == "" {
		return err
	}
	switch {
	case one && endpoints.HasEncodedSlash(r.URL): // who knows what the id is
		return a.owns(e.Of, "")
	case one:
		return a.owns(e.Of, id)
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		return faults.New(faultname.ScopeMissing, http.StatusForbidden, fmt.Errorf("%s of all %s needs the scope %q", r.Method, e.Of, access.Operator))
	}
	return nil
}

// pageParameters name the thing at which a page of a list begins or ends.
var pageParameters = []string{"after", "before", "after_id", "before_id"}

// query checks the things that parameters name. kind is that of the list that a request
// asks for; empty if it asks for none.
func (a *Asker) query(q url.Values, kind string) error {
	for name, values := range q {
		of := namedThings[strings.ToLower(name)]
		if of == "" && slices.Contains(pageParameters, name) {
			of = kind
		}
		if of == "" {
			continue
		}
		for _, v := range values {
			if err := a.all(List{}.with(of, name, v)); err != nil {
				return err
			}
		}
	}
	return nil
}

// Body checks the things that the body of a request names.
func (a *Asker) Body(h http.Header, body []byte) error {
	body = bytes.TrimSpace(body)
	if a == nil || len(body) == 0 {
		return nil
	}
	if e := h.Get("Content-Encoding"); e != "" && e != "identity" {
		return faults.New(faultname.CompressionUnsupported, http.StatusUnsupportedMediaType, fmt.Errorf("a request compressed as %s is not supported: send it uncompressed", bodies.EncodingName(e)))
	}
	if body[0] != '{' && body[0] != '[' {
		if form, err := url.ParseQuery(string(body)); err == nil && strings.HasPrefix(h.Get("Content-Type"), "application/x-www-form-urlencoded") {
			return a.query(form, "")
		}
		return nil
	}
	if err := foreignjson.Check(body); err != nil { // a lenient upstream could read what we cannot
		return faults.New(faultname.BodyNotJSON, http.StatusBadRequest, fmt.Errorf("the request's body %w", err))
	}
	return a.all(In(body))
}

func (a *Asker) all(list List) error {
	if len(list) > Most {
		return faults.New(faultname.TooManyNamed, http.StatusBadRequest, fmt.Errorf("the request names more than %d files and other things", Most))
	}
	for _, t := range list {
		if err := a.owns(t.kind, t.id); err != nil {
			return err
		}
	}
	return nil
}

// MayBeNamed reports whether the body of a request may be one that names things. Forms
// with files, and files, are not.
func MayBeNamed(h http.Header) bool {
	kind, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(h.Get("Content-Type"))), ";")
	return kind == "" || bodies.IsJSON(h) || strings.HasPrefix(kind, "text/") || kind == "application/x-www-form-urlencoded"
}
