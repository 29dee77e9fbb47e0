package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/wire/turn"
)

// An Upstream is a model server beside the one of [Config.Upstream]. It serves the models
// of the routes that name it.
type Upstream struct {
	// URL is its base URL. Its path is put before the request's.
	URL *url.URL
	// API is what it speaks, by a name of [APIs]. Requests of other APIs are translated. If empty,
	// each request goes to it in its own API.
	API string
	// Key, if set, is the API key sent to it in place of the client's. No other upstream
	// gets it.
	Key string
	// Silence is how long it may send nothing before the exchange ends as an error. If
	// zero, [Config.Silence].
	Silence time.Duration
	// HeaderTimeout is how long the header of its response may take, from the moment the
	// request is sent. If zero, only Silence bounds it.
	HeaderTimeout time.Duration
	// Retries is how often a request is sent to it again whose response has not begun:
	// see [Config.UpstreamRetries].
	Retries int
}

// defaultUpstream is the name of [Config.Upstream] in metrics and logs.
const defaultUpstream = "default"

// maxUpstreams bounds the upstreams of a configuration. Their names are labels of
// metrics, and a list of models asks each of them.
const maxUpstreams = 64

// upstreamKey is the key of an upstream among the targets, by its name.
func upstreamKey(name string) string {
	if name == defaultUpstream {
		return ""
	}
	return name
}

// A target is a model server to which requests go, with all that is decided about it
// once. Everything that depends on the server asks its target: the address, the key, the
// time limits, and what is learned of it.
type target struct {
	name                   string // fit for labels
	url                    *url.URL
	api                    turn.API // that it speaks; nil if it speaks those of its clients
	key                    string
	silence, headerTimeout time.Duration
	retries                int
	// facts name it in what is learned, and memory in what is remembered for a caller. The
	// memory of the default upstream has no name, as there was no other before.
	facts, memory string
	transport     http.RoundTripper
}

// targetsOf returns the upstreams of a configuration by name. That of [Config.Upstream]
// has an empty one. A transport of the gateway's own stays with its host.
func (e *engine) targetsOf(c *Config, old map[string]*target) map[string]*target {
	hosts := map[string]int{}
	if c.Upstream != nil {
		hosts[c.Upstream.Host]++
	}
	for _, u := range c.Upstreams {
		hosts[u.URL.Host]++
	}
	facts := func(u *url.URL) string {
		if hosts[u.Host] > 1 { // only the path tells them apart
			return u.Host + strings.TrimSuffix(u.Path, "/")
		}
		return u.Host
	}
	all := map[string]*target{}
	if u := c.Upstream; u != nil {
		all[""] = &target{
			name: defaultUpstream, url: u, api: apiNamed(c.UpstreamAPI), key: c.UpstreamKey, silence: c.Silence, headerTimeout: c.UpstreamHeaderTimeout, retries: c.UpstreamRetries,
			facts: facts(u), transport: c.Transport,
		}
	}
	for name, u := range c.Upstreams {
		all[name] = &target{
			name: name, url: u.URL, api: apiNamed(u.API), key: u.Key, silence: cmp.Or(u.Silence, c.Silence), headerTimeout: u.HeaderTimeout, retries: u.Retries,
			facts: facts(u.URL), memory: facts(u.URL), transport: e.transportTo(u.URL, c, old),
		}
	}
	return all
}

// transportTo returns the transport for a server: the one that has connections to it
// already, or a new one.
func (e *engine) transportTo(u *url.URL, c *Config, old map[string]*target) http.RoundTripper {
	if !e.ownTransport {
		return c.Transport
	}
	for name, t := range old {
		if name != "" && sameServer(t.url, u) {
			return t.transport
		}
	}
	return UpstreamTransport(c.Limits)
}

// sameServer reports whether the connections to two base URLs are the same.
func sameServer(a, b *url.URL) bool {
	return a != nil && b != nil && a.Scheme == b.Scheme && a.Host == b.Host
}

// target returns the upstream of a route.
func (e *engine) target(r routing.Route) *target { return e.targets[r.Upstream] }

// unnamed returns the upstream of a request that names no model: that of the first route
// that takes every model of its API.
func (e *engine) unnamed(c codec) *target {
	api := ""
	if c != nil {
		api = c.Name()
	}
	return e.target(e.route(api, ""))
}

// several reports whether there is more than one upstream.
func (e *engine) several() bool { return len(e.targets) > 1 }

// bridges reports whether the API of some upstream is known, so that clients of others are served.
func (e *engine) bridges() bool {
	for _, t := range e.targets {
		if t.api != nil {
			return true
		}
	}
	return false
}

// decidesByModel reports whether the model that a request names says where it goes: to
// one of several upstreams, or not to the upstream at all.
func (e *engine) decidesByModel() bool { return e.several() || e.config.Separated != nil }

// elsewhere returns a target for a server that the sender of a request chose.
func (e *engine) elsewhere(u *url.URL) *target {
	return &target{name: defaultUpstream, url: u, silence: e.config.Silence, facts: u.Host, transport: e.config.Transport}
}

// keys are the API keys of all upstreams.
func (c *Config) keys() []string {
	list := []string{c.UpstreamKey}
	for _, u := range c.Upstreams {
		list = append(list, u.Key)
	}
	slices.Sort(list)
	return slices.DeleteFunc(slices.Compact(list), func(key string) bool { return key == "" })
}

// upstreamName is the form of an upstream's name, which is a label of metrics.
var upstreamName = lazyregexp.New(`^[a-z0-9]([a-z0-9_-]{0,30}[a-z0-9])?$`)

// checkUpstreams reports what is wrong with the upstreams, and with the routes that name
// one.
func (c *Config) checkUpstreams(fault func(route int, key string, err error)) {
	if n := len(c.Upstreams); n > maxUpstreams {
		fault(-1, "upstreams", fmt.Errorf("there are %d: want %d or fewer", n, maxUpstreams))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		u, path := c.Upstreams[name], "upstreams."+name
		switch {
		case !upstreamName.MatchString(name):
			fault(-1, path, fmt.Errorf("%q: want up to 32 lower-case letters and digits, with - or _ between them", name))
		case name == defaultUpstream:
			fault(-1, path, errors.New("this is the name of the upstream of routes that name none, which upstream sets"))
		}
		fault(-1, path+".url", checkUpstream(u.URL))
		fault(-1, path+".api", checkAPI(u.API))
		if u.Silence < 0 {
			fault(-1, path+".silence", errNegative)
		}
		if u.HeaderTimeout < 0 {
			fault(-1, path+".header-timeout", errNegative)
		}
		fault(-1, path+".retries", checkRetries(u.Retries))
	}
	fault(-1, "upstream-api", checkAPI(c.UpstreamAPI))
	fault(-1, "upstream-retries", checkRetries(c.UpstreamRetries))
	for i, r := range append([]routing.Route{c.Default}, c.Routes...) {
		if _, known := c.Upstreams[r.Upstream]; r.Upstream != "" && !known {
			fault(i-1, "upstream", fmt.Errorf("%q is not the name of an upstream: want one of %s", r.Upstream, c.upstreamNames()))
		}
	}
}

// maxRetries bounds how often a request is sent again.
const maxRetries = 10

func checkRetries(n int) error {
	if n < 0 || n > maxRetries {
		return fmt.Errorf("%d: want 0 to %d", n, maxRetries)
	}
	return nil
}

var errNegative = errors.New("is negative: want 0 (the default) or more")

func (c *Config) upstreamNames() string {
	if len(c.Upstreams) == 0 {
		return "those in upstreams, which has none"
	}
	return strings.Join(slices.Sorted(maps.Keys(c.Upstreams)), ", ")
}

// soleUpstream returns the URL of the only upstream; nil if there are several.
func (e *engine) soleUpstream() *url.URL {
	if e.several() {
		return nil
	}
	return e.config.Upstream
}
