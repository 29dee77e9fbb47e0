package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/sotto-llm/sotto/gateway/internal/bridging"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/endpoints"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/lists"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
	"github.com/sotto-llm/sotto/wire/turn"
)

// Requests that are not conversations, to an upstream that speaks another API than their client.

// countHeader says how the tokens of a request were counted.
const countHeader = "Sotto-Token-Count"

// leftOutHeader names the members of a request, and of a whole reply, that have no counterpart in the other API.
const leftOutHeader = "Sotto-Left-Out"

// The values of countHeader.
const (
	countedUpstream = "upstream"
	countedEstimate = "estimate"
)

// foreignTime bounds what an upstream is asked to answer one request.
const foreignTime = 10 * time.Second

// foreign answers a request to an endpoint that the upstream's API does not have.
func (g *ruleset) foreign(w http.ResponseWriter, r *http.Request, e *endpoints.Endpoint, to *target, body []byte, hold *budget.Charge) {
	ctx, cancel := context.WithTimeout(r.Context(), foreignTime)
	defer cancel()
	c, reply, kind, err := e.Codec, []byte(nil), "application/json", error(nil)
	switch p, one := e.ModelsOf(r); {
	case p != nil:
		c = p.Codecs[0]
		reply, err = g.foreignModels(ctx, e, p, one, r, to, hold)
	case e.Counts:
		reply, err = g.foreignCount(ctx, w, r, e, to, body, hold)
	case e.Stands != nil:
		models, listed := g.modelsOf(ctx, to, hold)
		ok := false
		if listed != nil {
			g.engine.observers.Unlisted(to.name, listed)
		}
		if reply, kind, ok = e.Stands(body, models); !ok {
			err = faults.New(faultname.ModelUnknown, http.StatusNotFound, errors.New("the upstream has no such model"))
		}
	default:
		err = notSpoken(to)
	}
	if err != nil {
		name, status, text := failure(err)
		faults.Refuse(w, c, name, status, text)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Length", fmt.Sprint(len(reply)))
	_, _ = w.Write(reply) // nobody reads it if the client has left
}

// notSpoken is the error of a request that an upstream of another API cannot answer.
func notSpoken(to *target) error {
	return faults.New(faultname.RouteNotTranslated, http.StatusNotFound, fmt.Errorf("the upstream speaks the API %s, which has no counterpart of this route", providers.NameOf(to.api)))
}

// foreignModels answers a request for the models of an upstream, or for one of them, in the form of a
// provider.
func (g *ruleset) foreignModels(ctx context.Context, e *endpoints.Endpoint, as *wire.Provider, one bool, r *http.Request, to *target, hold *budget.Charge) ([]byte, error) {
	models, err := g.modelsOf(ctx, to, hold)
	if err != nil {
		return nil, faults.New(faultname.ModelsUnlisted, http.StatusBadGateway, fmt.Errorf("the upstream's list of models: %w", faults.Quiet(err)))
	}
	if models == nil {
		return nil, faults.New(faultname.RouteNotTranslated, http.StatusNotFound, fmt.Errorf("the upstream speaks the API %s, and has no list of models", providers.NameOf(to.api)))
	}
	if !one {
		return as.Models.Write(models), nil
	}
	name, _ := e.Model(r, nil)
	i := slices.IndexFunc(models, func(m wire.Model) bool { return m.Name == name })
	if i < 0 {
		return nil, faults.New(faultname.ModelUnknown, http.StatusNotFound, errors.New("the upstream has no such model"))
	}
	return as.Models.WriteOne(models[i]), nil
}

// modelsOf asks an upstream for its models. It returns nil if that has no list.
func (g *ruleset) modelsOf(ctx context.Context, to *target, hold *budget.Charge) ([]wire.Model, error) {
	p := endpoints.Provider(to.api)
	if p == nil || p.Models == nil {
		return nil, nil
	}
	resp, err := g.askForeign(ctx, to, http.MethodGet, p.Models.Path, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := lists.Read(resp, hold)
	if data == nil || err != nil {
		return nil, err
	}
	models := slices.DeleteFunc(p.Models.Read(data), func(m wire.Model) bool { return m.Name == "" })
	return append([]wire.Model{}, models...), nil
}

// askForeign sends a request of the gateway's own to an upstream in the API of that, with nothing of a
// client's but what path and body have.
func (g *ruleset) askForeign(ctx context.Context, to *target, method, path string, body []byte) (*http.Response, error) {
	out, err := http.NewRequestWithContext(ctx, method, "http://upstream"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	bridging.Headers(out, to.api)
	if body == nil {
		out.Header.Del("Content-Type")
	}
	g.address(out, to)
	return g.engine.way(to).Once(out)
}

// listing makes of an upstream's list of models one in the form of a client's provider.
func (g *ruleset) listing(ctx context.Context, as *wire.Provider, to *target) (*http.Response, error) {
	hold, err := g.engine.budget.Open()
	if err != nil {
		return nil, err
	}
	defer hold.Leave()
	resp := &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Header: http.Header{}}
	models, err := g.modelsOf(ctx, to, hold)
	if err != nil || models == nil || as == nil {
		return resp, err
	}
	list := as.Models.Write(models)
	resp.StatusCode, resp.ContentLength, resp.Body = http.StatusOK, int64(len(list)), io.NopCloser(bytes.NewReader(list))
	return resp, nil
}

// foreignCount counts the tokens of a request as the upstream would get it, with the reasoning of earlier turns that it
// would get. A request that the gateway would refuse is refused.
func (g *ruleset) foreignCount(ctx context.Context, w http.ResponseWriter, r *http.Request, e *endpoints.Endpoint, to *target, body []byte, hold *budget.Charge) ([]byte, error) {
	client, as := e.Codec.(turn.API), endpoints.CountOf(e.Codec)
	if as == nil || as.Request == nil || client == nil {
		return nil, notSpoken(to)
	}
	bad := func(err error) error { return faults.New(faultname.RequestUnreadable, http.StatusBadRequest, err) }
	if err := foreignjson.Check(body); err != nil {
		return nil, bad(fmt.Errorf("the request's body %w", err))
	}
	if err := hold.Take(budget.ParsedCost(body)); err != nil {
		return nil, err
	}
	said, err := as.Request(body)
	if err != nil {
		return nil, bad(err)
	}
	x, err := g.engine.open(client, said, r, to, hold)
	if err == nil {
		err = x.prepare()
	}
	if err != nil {
		return nil, err
	}
	if own := endpoints.CountOf(to.api); own != nil {
		if n, ok := own.Ask(g.sendForeign(ctx, to, hold), x.request.Model, x.body); ok && n >= 0 {
			w.Header().Set(countHeader, countedUpstream)
			return as.Reply(n), nil
		}
	}
	w.Header().Set(countHeader, countedEstimate)
	t, err := to.api.ReadTurn(x.body)
	if err != nil {
		return nil, bad(err)
	}
	return as.Reply(bridging.Size(t) / observing.BytesPerToken), nil
}

// sendForeign returns what sends requests to an upstream.
func (g *ruleset) sendForeign(ctx context.Context, to *target, hold *budget.Charge) wire.Send {
	return func(path string, body []byte) []byte {
		resp, err := g.askForeign(ctx, to, http.MethodPost, path, body)
		if err != nil {
			return nil
		}
		defer resp.Body.Close()
		data, err := lists.Read(resp, hold)
		if err != nil {
			return nil
		}
		return data
	}
}
