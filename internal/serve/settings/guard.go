package settings

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/sotto-llm/sotto/gateway/guard"
	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/internal/serve/guardhttp"
)

// A guardServer is the server that judges the replies of a route.
type guardServer struct {
	url   *url.URL
	off   bool // the route has none, whatever stands at the top
	token secret
	sees  []string
}

// channelsValue is what a guard sees.
func channelsValue(p *[]string) value {
	v := commas(listValue(p, "reasoning, answer, or a list of both", checkText))
	v.words = []string{string(guard.Reasoning), string(guard.Answer)}
	return v
}

// guardValue is the URL of a guard, or off.
func guardValue(g *guardServer) value {
	const off = "off"
	return value{
		want:  "a URL such as http://localhost:9000/judge, or off",
		kinds: []yamlfile.Kind{yamlfile.Text},
		set: func(text string) error {
			g.url, g.off = nil, text == off
			if g.off {
				return nil
			}
			u, err := guardhttp.ParseURL(text)
			g.url = u
			return err
		},
		get: func() any {
			switch {
			case g.off:
				return off
			case g.url == nil:
				return nil
			}
			return g.url.String()
		},
	}
}

// wholeOrSize is a size in bytes, or whole, which is negative.
func wholeOrSize(p *int) value {
	const whole, want = "whole", "a size such as 400 or 2KiB, or whole"
	return value{
		field: p,
		want:  want,
		kinds: []yamlfile.Kind{yamlfile.Int, yamlfile.Text},
		set: func(text string) error {
			if text == whole {
				*p = -1
				return nil
			}
			n, err := bytesize.Parse[int](text)
			if err != nil || n < 1 {
				return fmt.Errorf("%q: want %s", text, want)
			}
			*p = n
			return nil
		},
		get: func() any {
			switch {
			case *p < 0:
				return whole
			case *p == 0:
				return nil
			}
			return bytesize.Format(int64(*p))
		},
	}
}

// readGuards reads the tokens of the guards, fills in what routes leave open, and makes
// the guards.
func (s *Setup) readGuards() {
	s.judges = map[string]*guardhttp.Guard{}
	s.makeGuard("", &s.Gateway.Default.Guard, &s.guard)
	for i := range s.guards {
		r, g := &s.Gateway.Routes[i].Guard, &s.guards[i]
		path := fmt.Sprintf("routes[%d].", i)
		own := g.token.file != ""
		if own {
			s.readSecretFile(&g.token, path+"guard-token-file")
		}
		s.inheritGuard(r, g, own)
		s.makeGuard(path, r, g)
	}
}

// inheritGuard fills in what a route leaves open. The token goes to no other server than
// the one that it stands beside.
func (s *Settings) inheritGuard(r *guard.Rule, g *guardServer, ownToken bool) {
	top := &s.guard
	if g.url == nil && !g.off {
		g.url = top.url
	}
	if !ownToken && g.url != nil && top.url != nil && g.url.Scheme == top.url.Scheme && g.url.Host == top.url.Host {
		g.token = top.token
	}
	above := guardKeys(&s.Gateway.Default.Guard, top)
	for i, k := range guardKeys(r, g) {
		if k.name != "guard" && k.name != "guard-token-file" {
			k.inherit(above[i].value)
		}
	}
}

// makeGuard gives a rule its guard. Routes that ask the same server share it, and so its
// bounds.
func (s *Setup) makeGuard(path string, r *guard.Rule, g *guardServer) {
	r.Off, r.Sees = g.off, nil
	for _, c := range g.sees {
		r.Sees = append(r.Sees, guard.Channel(c))
	}
	u := g.url
	if u == nil {
		s.warnIdleGuard(path, g)
		return
	}
	if isOwn(u, s.Listen) {
		s.fault(path+"guard", fmt.Errorf("%s is the gateway's own address", u))
	}
	id := u.String() + " " + g.token.Text
	if s.judges[id] == nil {
		if s.running != nil {
			s.judges[id] = s.running.judges[id] // with its connections
		}
		if s.judges[id] == nil {
			s.judges[id] = guardhttp.New(u, g.token.Text)
		}
		if u.Scheme == "http" && g.token.Text != "" && !IsLoopback(u.Host) {
			s.warn("the guard's token goes to %s unencrypted: its URL is http", u.Host)
		}
	}
	r.Guard = s.judges[id]
}

// warnIdleGuard warns about settings of a guard if no guard is set.
func (s *Setup) warnIdleGuard(path string, g *guardServer) {
	if g.off {
		return // it keeps its settings
	}
	for _, k := range guardKeys(new(guard.Rule), g)[1:] {
		idle := path != "" || !slices.ContainsFunc(s.guards, func(g guardServer) bool { return g.url != nil })
		if at, set := s.places[path+k.name]; set && idle {
			s.warn("%v", &Fault{at, path + k.name, errors.New("does nothing, because there is no guard")})
		}
	}
}

// GuardTokens are the tokens of the guards.
func (s *Settings) GuardTokens() []string {
	var list []string
	for _, g := range append([]guardServer{s.guard}, s.guards...) {
		if t := g.token.Text; t != "" && !slices.Contains(list, t) {
			list = append(list, t)
		}
	}
	return list
}
