package settings

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// A NamedUpstream is a model server for the routes that name it.
type NamedUpstream struct {
	Name string
	URL  *url.URL

	api             string
	key             secret
	variable        string // of the environment, that holds the key
	silence, header time.Duration
	retries         int
}

// orUnset makes a duration one that is not printed if it is zero: not set.
func orUnset(v value) value {
	get := v.get
	v.get = func() any {
		if text := get(); text != "0s" {
			return text
		}
		return nil
	}
	return v
}

// retriesValue is a number of retries. The gateway checks how many there may be.
func retriesValue(p *int) value {
	v := countValue(p)
	set := v.set
	v.set = func(text string) error {
		if text == "0" {
			*p = 0
			return nil
		}
		return set(text)
	}
	return v
}

// upstreams reads the further upstreams, by their names.
func (r *configReader) upstreams(n *yamlfile.Node) {
	if n.Kind != yamlfile.Mapping {
		r.doc.Fault(n, "upstreams", "want the names of upstreams, each with url")
		return
	}
	r.doc.Keys(n, "upstreams", func(name *yamlfile.Node, path string, v *yamlfile.Node) {
		r.doc.Mark(path, name)
		if v.Kind != yamlfile.Mapping {
			r.doc.Fault(v, path, "want url, and as needed api, key-file, key-env, silence, header-timeout and retries")
			return
		}
		u := NamedUpstream{Name: name.Text}
		r.section(v, path, upstreamKeys(&u))
		r.settings.Upstreams = append(r.settings.Upstreams, u)
	})
}

// readUpstreams reads the keys of the further upstreams, and gives the upstreams to the
// gateway.
func (s *Setup) readUpstreams(getenv func(string) string) {
	if len(s.Upstreams) == 0 {
		return
	}
	if s.Upstream == nil {
		s.fault("upstreams", errors.New("there is no upstream for the routes that name none: set upstream"))
	}
	s.Gateway.Upstreams = map[string]gateway.Upstream{}
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		path := yamlfile.Join("upstreams", u.Name)
		s.readUpstreamKey(u, path, getenv)
		_, given := s.places[path+".url"]
		switch {
		case u.URL == nil && given: // reported where it was read
			continue
		case u.URL == nil: // the gateway reports it
			s.places[path+".url"] = s.places[path]
		case isOwn(u.URL, s.Listen):
			s.fault(path+".url", fmt.Errorf("%s is the gateway's own address", u.URL))
		case u.URL.Scheme == "http" && u.key.Text != "" && !IsLoopback(u.URL.Host):
			s.warn("the key of the upstream %s goes to %s unencrypted: its URL is http", u.Name, u.URL.Host)
		}
		s.Gateway.Upstreams[u.Name] = gateway.Upstream{URL: u.URL, API: u.api, Key: u.key.Text, Silence: u.silence, HeaderTimeout: u.header, Retries: u.retries}
	}
	for _, u := range s.Upstreams {
		named := func(r routing.Route) bool { return r.Upstream == u.Name }
		if !slices.ContainsFunc(s.Gateway.Routes, named) {
			s.warn("no route names the upstream %s, so no request goes there", u.Name)
		}
	}
}

func (s *Setup) readUpstreamKey(u *NamedUpstream, path string, getenv func(string) string) {
	switch {
	case u.variable != "" && u.key.file != "":
		s.fault(path+".key-env", errors.New("key-file is set too: keep one of them"))
	case u.variable != "":
		if u.key.Text = strings.TrimSpace(getenv(u.variable)); u.key.Text == "" {
			s.fault(path+".key-env", errors.New("the environment has no variable with this name"))
		} else if err := files.CheckSecret(u.key.Text); err != nil {
			s.fault(path+".key-env", err)
		}
	case u.key.file != "":
		s.readSecretFile(&u.key, path+".key-file")
	}
}
