// Package lists makes one list of models of those of several upstreams.
//
// A client sees the models of all upstreams, each as the upstream describes it. A model is
// in the list if a request for it would go to the upstream that offers it, so no model is
// there twice, or without leading anywhere.
package lists

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/headers"
	"github.com/sotto-llm/sotto/gateway/internal/sending"
	"github.com/sotto-llm/sotto/internal/base/modelname"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// paths are those of lists of models.
var paths = []string{"/v1/models", "/models", "/api/v0/models", "/v1beta/models", "/api/tags", "/api/ps"}

// Bounds of reading the lists: the time that all upstreams have together, and the bytes
// and models of one list. Each model is looked for in the routes of each API.
const (
	mostTime   = 5 * time.Second
	mostBytes  = 4 << 20
	mostModels = 10_000
)

// members are the members that hold the models of a list.
var members = []string{"data", "models"}

// FailedHeader names the upstreams whose models are missing from a list.
const FailedHeader = "Sotto-Upstreams-Failed"

// IsAsked reports whether a request asks for the first page of a list of models. A later
// page is of the upstream that gave the first one.
func IsAsked(r *http.Request, at *endpoints.Endpoint) bool {
	if !slices.Contains(paths, at.Path) || r.Method != http.MethodGet {
		return false
	}
	query := r.URL.Query()
	return !slices.ContainsFunc([]string{"after_id", "before_id", "after", "pageToken", "page_token"}, query.Has)
}

// Request makes of the request of a client one for an upstream, without a body and without
// headers that are about the client's connection or its copy of a list.
func Request(ctx context.Context, r *http.Request) *http.Request {
	out := r.Clone(sending.FewInformational(ctx))
	out.Body, out.ContentLength, out.TransferEncoding, out.RequestURI = nil, 0, nil, ""
	for name := range out.Header {
		if headers.IsHopByHop(name, r.Header) || strings.HasPrefix(name, "If-") || name == "Range" {
			delete(out.Header, name)
		}
	}
	out.Header.Set("Accept-Encoding", "identity")
	return out
}

// A Source is an upstream that is asked for its models.
type Source struct {
	Name  string
	Send  func(ctx context.Context) (*http.Response, error)
	Leads func(api, model string) bool // whether a request for a model goes to it
}

// An Offer is what one upstream answers to a request for its models.
type Offer struct {
	Source
	Err  error        // why its list is not known
	root gjson.Result // not an object if there is no list
	hold *budget.Charge
}

// Offers are what all upstreams answer.
type Offers []*Offer

// Ask asks all upstreams at the same time. The memory that their lists take is of b, until
// [Offers.Leave].
func Ask(ctx context.Context, sources []Source, b *budget.Budget) Offers {
	ctx, cancel := context.WithTimeout(ctx, mostTime)
	defer cancel()
	var offers Offers
	var asked sync.WaitGroup
	for _, s := range sources {
		o := &Offer{Source: s}
		offers = append(offers, o)
		asked.Go(func() { o.Err = o.ask(ctx, b) })
	}
	asked.Wait()
	return offers
}

// Leave releases the memory of the lists.
func (l Offers) Leave() {
	for _, o := range l {
		if o.hold != nil {
			o.hold.Leave()
		}
	}
}

// ask asks one upstream for its models. An upstream that does not know the path has none.
func (o *Offer) ask(ctx context.Context, b *budget.Budget) (err error) {
	if o.hold, err = b.Open(); err != nil {
		return err
	}
	resp, err := o.Send(ctx)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	o.root, err = listOf(resp, o.hold)
	return err
}

// Read reads an object that an upstream answers; nil if it does not have what it was asked for.
func Read(resp *http.Response, hold *budget.Charge) ([]byte, error) {
	root, err := listOf(resp, hold)
	if err != nil || !root.Exists() {
		return nil, err
	}
	return jsonedit.BytesOf(root.Raw), nil
}

func listOf(resp *http.Response, hold *budget.Charge) (root gjson.Result, err error) {
	switch resp.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return root, nil
	default:
		return root, fmt.Errorf("it answers %d", resp.StatusCode)
	}
	data, err := hold.Read(resp.Body, mostBytes, min(resp.ContentLength, mostBytes))
	if err != nil {
		return root, faults.Quiet(err)
	}
	if err := hold.Take(budget.ParsedCost(data)); err != nil {
		return root, err
	}
	root, err = foreignjson.Limits{Members: foreignjson.ReplyMembers}.Parse(bytes.TrimSpace(data))
	if err == nil && !root.IsObject() {
		err = errors.New("its list is not an object")
	}
	for _, member := range members {
		if err == nil && root.Get(member+".#").Int() > mostModels {
			err = fmt.Errorf("its list has more than %d models", mostModels)
		}
	}
	if err != nil {
		return gjson.Result{}, err
	}
	return root, nil
}

// Merge returns the first list with the models of all of them. It reports false if no
// upstream has a list. api is that in which the reader of the list asks for a model, and
// apis are all.
func (l Offers) Merge(api string, apis []string) (body []byte, ok bool) {
	first := slices.IndexFunc(l, func(o *Offer) bool { return o.root.IsObject() })
	if first < 0 {
		return nil, false
	}
	l = l[first:]
	base := l[0].root
	var edits []jsonedit.Edit
	for _, member := range members {
		list := base.Get(member)
		if !list.IsArray() {
			continue
		}
		with := []byte{'['}
		for _, entry := range l.entries(member, api, apis) {
			if len(with) > 1 {
				with = append(with, ',')
			}
			with = append(with, entry...)
		}
		edits = append(edits, jsonedit.Edit{Span: jsonedit.SpanOf(list), With: append(with, ']')})
	}
	return jsonedit.Splice(nil, []byte(base.Raw), edits), true
}

// entries returns the entries of a list. The API of the list decides first whose entry
// of a model it is. One that only another API leads to is there too.
func (l Offers) entries(member, api string, apis []string) (entries []string) {
	best := map[string]*Offer{}
	each := func(f func(o *Offer, name string, entry gjson.Result)) {
		for _, o := range l {
			for _, entry := range o.root.Get(member).Array() {
				f(o, modelOf(entry), entry)
			}
		}
	}
	each(func(o *Offer, name string, _ gjson.Result) {
		switch {
		case o.Leads(api, modelname.Bounded(name)):
			best[name] = o
		case best[name] == nil && slices.ContainsFunc(apis, func(api string) bool { return o.Leads(api, modelname.Bounded(name)) }):
			best[name] = o
		}
	})
	each(func(o *Offer, name string, entry gjson.Result) {
		if best[name] == o {
			delete(best, name)
			entries = append(entries, entry.Raw)
		}
	})
	return entries
}

// modelOf returns the name of a model in a list.
func modelOf(entry gjson.Result) string {
	for _, member := range []string{"id", "model", "name"} {
		if v := entry.Get(member); v.Type == gjson.String && v.Str != "" {
			return strings.TrimPrefix(v.Str, "models/")
		}
	}
	return ""
}
