package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/console/peers"
)

// allHealth is the health of several gateways.
type allHealth struct {
	V int `json:"v"`
	// Wrong is what is not as it should be: first the gateways that do not answer, and then what
	// each says of itself.
	Wrong    []wrong         `json:"wrong"`
	Gateways []gatewayHealth `json:"gateways"`
	Lost     bool            `json:"lost,omitempty"` // there may be gateways that are not known
}

// A gatewayHealth is that of one gateway; nil if it did not say.
type gatewayHealth struct {
	Gateway
	Health *healthData `json:"health,omitempty"`
}

// Bounds of what another gateway says of its health.
const (
	maxWrongs  = 100
	maxReached = 100
)

// healthOfAll asks all gateways for their health.
func (c *Console) healthOfAll(r *http.Request) (Answer, error) {
	g, err := c.Gather(r, func(peers.Place) string { return "health?format=json" })
	if err != nil {
		return Answer{}, err
	}
	said := map[string]*healthData{}
	for _, p := range g.Parts {
		switch {
		case p.Own:
			own := c.health(r)
			said[p.Record] = &own
		case p.JSON != nil:
			if said[p.Record], err = readHealth(p.JSON); err != nil {
				g.Failed(p.Record, peers.Failed)
			}
		}
	}
	d := allHealth{V: 1, Wrong: []wrong{}, Lost: g.Lost}
	for _, x := range g.Gateways {
		if x.State != peers.Listed {
			d.Wrong = append(d.Wrong, wrong{What: fmt.Sprintf(Word("wrong."+string(x.State)), x.Name)})
		}
	}
	for _, x := range g.Gateways {
		h := said[x.Record]
		d.Gateways = append(d.Gateways, gatewayHealth{x, h})
		if h == nil {
			continue
		}
		for _, w := range h.Wrong {
			w.Gateway = x.Name
			if w.Link != "" {
				if strings.HasPrefix(w.Link, "#") {
					w.Link = "health" + w.Link
				}
				w.Link = AtGateway(x.Record) + w.Link
			}
			d.Wrong = append(d.Wrong, w)
		}
	}
	return Answer{Template: "healths", Title: Word("screen.health"), Crumbs: []Crumb{{Name: Word("screen.health")}}, Data: d}, nil
}

// readHealth reads what another console says of its gateway.
func readHealth(data []byte) (*healthData, error) {
	var h healthData
	if err := json.Unmarshal(data, &h); err != nil {
		return nil, fmt.Errorf("it is not the health of a gateway: %w", err)
	}
	if h.V != 1 || len(h.Wrong) > maxWrongs || len(h.Upstreams) > maxReached || len(h.Counters) > maxCounters || len(h.Starts) > maxStarts {
		return nil, errors.New("it is not the health of a gateway")
	}
	for i := range h.Wrong {
		w := &h.Wrong[i]
		w.What, w.Said = shorttext.Cut(w.What, MaxFault), shorttext.Cut(w.Said, MaxFault)
	}
	return &h, nil
}

// Reached says how many of the upstreams can be reached.
func (h *healthData) Reached() string {
	n := 0
	for _, u := range h.Upstreams {
		if u.Fault == "" {
			n++
		}
	}
	if n == len(h.Upstreams) {
		return Word("health.reached")
	}
	return fmt.Sprintf(Word("health.some"), n, len(h.Upstreams))
}

// Say is what the page says of gateways that are not known.
func (d allHealth) Say() string {
	if d.Lost {
		return Word("gateways.lost")
	}
	return ""
}
