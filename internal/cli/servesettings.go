package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/catalogue"
	"github.com/sotto-llm/sotto/internal/files"
	"github.com/sotto-llm/sotto/internal/hint"
	"github.com/sotto-llm/sotto/internal/serving"
)

// A serveSetup is the settings of a run, from every source, and what is wrong
// with them.
type serveSetup struct {
	serveSettings
	faults   []*misstep
	hints    []string         // what helps with several faults, said once
	places   map[string]place // where the settings were made, by their keys' paths
	warnings []string
}

// sources are where settings come from: the defaults, over them a file, over it the
// environment, over it the flags.
type sources struct {
	file      string
	getenv    func(string) string
	overrides []override             // by flags, and by their variables in the environment
	given     func(flag string) bool // whether a flag stands on the command line
}

// readSettings gathers the settings. It fails where the file cannot be read.
func readSettings(from sources, names *catalogue.Catalogue) (*serveSetup, error) {
	s := &serveSetup{places: map[string]place{}}
	s.defaults(from.getenv)
	if from.file != "" {
		r, err := s.readConfig(from.file)
		if err != nil {
			return nil, err
		}
		s.faults, s.places, s.hints = r.faults, r.places, r.keyHints()
	}
	s.override(slices.Concat(s.keys(), s.flagKeys()), from.overrides)
	s.inherit()
	s.readSecret(&s.token, "token-file", "SOTTO_TOKEN", from)
	s.readSecret(&s.upstreamKey, "upstream-key-file", "SOTTO_UPSTREAM_KEY", from)
	s.fillGateway(names)
	s.checkGateway()
	s.checkAccess()
	s.checkUpstream()
	s.checkRoutes()
	s.checkRecord()
	slices.SortStableFunc(s.faults, func(a, b *misstep) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	return s, nil
}

func (s *serveSettings) defaults(getenv func(string) string) {
	for _, k := range slices.Concat(s.keys(), s.flagKeys(), s.limitKeys()) {
		if k.def == "" {
			continue
		}
		if err := k.set(k.def); err != nil {
			panic(fmt.Sprintf("the default of %s: %v", k.name, err))
		}
	}
	s.gateway.Data = files.StateFolder(getenv)
	s.gateway.Limits.Memory = serving.DefaultMemory()
	s.connections.Connections = serving.DefaultConnections()
}

// An override is a setting by a flag, or by its variable in the environment.
type override struct {
	key   string
	name  string // of the flag or variable
	texts []string
}

func (s *serveSetup) override(keys []key, list []override) {
	for _, o := range list {
		k, _ := find(keys, o.key)
		if k.clear != nil {
			k.clear()
		}
		at := place{name: o.name}
		s.places[o.key] = at
		for _, text := range o.texts {
			if err := k.set(strings.TrimSpace(text)); err != nil {
				s.faults = append(s.faults, &misstep{at, o.key, err})
			}
		}
	}
}

// inherit fills what a route leaves open with what stands at the top.
func (s *serveSettings) inherit() {
	d := &s.gateway.Default
	for i := range s.gateway.Routes {
		r := &s.gateway.Routes[i]
		r.Dialect = cmp.Or(r.Dialect, d.Dialect)
		r.Start = cmp.Or(r.Start, d.Start)
		r.Display = cmp.Or(r.Display, d.Display)
		r.Narration = cmp.Or(r.Narration, d.Narration)
		r.History = cmp.Or(r.History, d.History)
		if len(r.ReasoningFields) == 0 {
			r.ReasoningFields = d.ReasoningFields
		}
	}
}

func (s *serveSetup) fault(key string, err error) {
	s.faults = append(s.faults, &misstep{s.places[key], key, err})
}

func (s *serveSetup) warn(format string, args ...any) {
	s.warnings = append(s.warnings, fmt.Sprintf(format, args...))
}

// readSecret reads a secret: from the file of the flag, else from the
// environment, else from the file that the configuration names. No error holds
// any of it.
func (s *serveSetup) readSecret(to *secret, key, variable string, from sources) {
	text := from.getenv(variable)
	at := s.places[key]
	switch {
	case text != "" && !from.given(key) && at.name != "":
		s.fault(key, fmt.Errorf("%s is set too: want one of them", variable))
		return
	case text != "" && !from.given(key):
		*to = secret{text: strings.TrimSpace(text)}
		s.places[key] = place{name: variable}
	case to.file == "":
		return
	default:
		data, err := files.ReadSecret(to.file)
		if err != nil {
			s.fault(key, err)
			return
		}
		to.text = strings.TrimRight(string(data), "\r\n")
		s.warnOpenFile(to.file)
	}
	if err := files.CheckSecret(to.text); err != nil {
		if to.file != "" {
			err = fmt.Errorf("%s: %w", to.file, err)
		}
		s.fault(key, err)
	}
}

// warnOpenFile warns of a secret that every user of the machine can read.
func (s *serveSetup) warnOpenFile(name string) {
	if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" {
		s.warn("%s holds a secret and can be read by every user of this machine: chmod o-rwx it", name)
	}
}

// fillGateway sets what of the gateway's configuration is no key of its own.
func (s *serveSetup) fillGateway(names *catalogue.Catalogue) {
	own := new(catalogue.Catalogue)
	for i, file := range s.dialectFiles {
		more, err := catalogue.Load([]string{file})
		if err != nil {
			s.fault(fmt.Sprintf("dialect-files[%d]", i), err)
			continue
		}
		own.Join(more)
	}
	own.Join(names)
	g := &s.gateway
	g.Named, g.ForModel = own.Named, own.ForModel
	g.Upstream, g.UpstreamKey, g.Token = s.upstream, s.upstreamKey.text, s.token.text
	g.Public = !isLoopback(s.listen)
}

// checkGateway asks the gateway for what is wrong, and finds where it was set.
func (s *serveSetup) checkGateway() {
	g := s.gateway
	if g.Upstream == nil {
		g.Upstream = &url.URL{Scheme: "http", Host: s.scriptedListen}
	}
	atTop := map[string]bool{}
	for _, wrong := range gatewayFaults(g) {
		path := wrong.Key
		if wrong.Route >= 0 {
			path = fmt.Sprintf("routes[%d].%s", wrong.Route, wrong.Key)
		} else {
			atTop[path] = true
		}
		if _, own := s.places[path]; wrong.Route >= 0 && !own {
			if atTop[wrong.Key] {
				continue // a fault of the top, inherited
			}
			s.places[path] = s.places[fmt.Sprintf("routes[%d]", wrong.Route)]
		}
		s.fault(path, wrong.Err)
	}
}

// gatewayFaults are those that the gateway finds. With a dialect that nobody
// knows it does not look at the start, of which most is wrong in any.
func gatewayFaults(g gateway.Config) []*gateway.ConfigError {
	var all []*gateway.ConfigError
	has := func(route int, key string) bool {
		return slices.ContainsFunc(all, func(f *gateway.ConfigError) bool { return f.Route == route && f.Key == key })
	}
	for _, err := range g.Check() {
		if wrong, ok := errors.AsType[*gateway.ConfigError](err); ok {
			all = append(all, wrong)
		} else {
			all = append(all, &gateway.ConfigError{Route: -1, Err: err})
		}
	}
	for i, r := range append([]gateway.Route{g.Default}, g.Routes...) {
		i--
		if r.Start == "" || !has(i, "dialect") || has(i, "start") || strings.HasPrefix(string(r.Start), "inside:") {
			continue
		}
		if _, err := sotto.Default().NewSplitter(sotto.Options{Start: r.Start}); err != nil {
			all = append(all, &gateway.ConfigError{Route: i, Key: "start", Err: err})
		}
	}
	return all
}

const accessHint = "give clients a token with --token-file or SOTTO_TOKEN, or say --insecure-public"

// checkAccess refuses to let other machines in without a token, unless told.
func (s *serveSetup) checkAccess() {
	g := &s.gateway
	if g.Public && g.Token == "" && !s.insecurePublic && !slices.ContainsFunc(s.faults, aboutToken) {
		s.fault("listen", hint.Usage(fmt.Errorf("%s lets other machines in, and there is no token", s.listen), accessHint))
	}
	if g.Public && g.Token == "" && s.insecurePublic {
		s.warn("whoever reaches %s can use the models, and see the metrics: there is no token (insecure-public)", s.listen)
		if slices.Contains(g.AllowHosts, "*") {
			s.warn("any web page can make its own name lead here, and use the models: * is an allowed host, and there is no token")
		}
	}
	if n := len(g.Token); n > 0 && n < shortToken {
		s.warn("the token is shorter than %d characters, and may be guessed", shortToken)
	}
	if slices.Contains(g.AllowOrigins, "*") && g.Token == "" {
		s.warn("any web page may use the gateway: * is an allowed origin, and there is no token")
	}
	if u := g.Upstream; u != nil && u.Scheme == "http" && g.UpstreamKey != "" && !isLoopback(u.Host) {
		s.warn("the upstream's key goes to %s unencrypted: its URL is http", u.Host)
	}
}

// shortToken is fewer characters than a token should have.
const shortToken = 16

// checkUpstream refuses an upstream that is the gateway itself: every request
// would come back to it.
func (s *serveSetup) checkUpstream() {
	if u := s.upstream; u != nil && isOwn(u, s.listen) {
		s.fault("upstream", fmt.Errorf("%s is the gateway's own address", u))
	}
}

// isOwn reports whether a URL leads to an address that is listened on.
func isOwn(u *url.URL, listen string) bool {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || port == "0" || port != cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme]) {
		return false
	}
	to, at := u.Hostname(), net.ParseIP(host)
	switch ip := net.ParseIP(to); {
	case strings.EqualFold(to, host):
		return true
	case host == "" || at != nil && at.IsUnspecified(): // every address of this machine
		return isLoopback(to) || ip != nil && (ip.IsUnspecified() || isInterface(ip))
	case strings.EqualFold(to, "localhost") || ip != nil && ip.IsUnspecified():
		return isLoopback(host)
	case strings.EqualFold(host, "localhost"):
		return ip.Equal(net.IPv4(127, 0, 0, 1)) || ip.Equal(net.IPv6loopback)
	default:
		return ip != nil && ip.Equal(at)
	}
}

// isInterface reports whether an address is one of this machine's.
func isInterface(ip net.IP) bool {
	all, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		own, ok := a.(*net.IPNet)
		return ok && own.IP.Equal(ip)
	})
}

// checkRoutes warns of a route that hides those after it.
func (s *serveSetup) checkRoutes() {
	all := s.gateway.Routes
	for i, r := range all[:max(0, len(all)-1)] {
		if len(r.APIs) == 0 && (len(r.Models) == 0 || slices.Contains(r.Models, "*")) {
			path := fmt.Sprintf("routes[%d]", i)
			s.warn("%v", &misstep{s.places[path], path, errors.New("fits every model, and hides the routes after it")})
			return
		}
	}
}

func aboutToken(f *misstep) bool { return f.key == "token-file" }

// isLoopback reports whether an address, with a port or without, is this
// machine's own.
func isLoopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// checkRecord reports what is wrong with how to record.
func (s *serveSetup) checkRecord() {
	_, faults := s.recording.Options()
	for _, f := range faults {
		key := f.Flag
		if key == "record-recipient" {
			key = "record-recipients"
		}
		if _, said := s.places[key]; !said && s.places["record"].file != "" { // what is missing
			s.places[key] = s.places["record"]
		}
		s.fault(key, f.Unwrap())
	}
	for _, name := range []string{s.recording.RecordSigningKey, s.recording.RecordDigestKey} {
		if name != "" {
			s.warnOpenFile(name)
		}
	}
}
