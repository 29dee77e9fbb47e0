// Package settings has all settings of the gateway's command: the keys of its
// configuration file, the sources that set them, the faults in them and where each
// was made.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/net/sealedslot"
	"github.com/sotto-llm/sotto/internal/net/serving"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/guardhttp"
	"github.com/sotto-llm/sotto/internal/serve/replicas"
)

// A Setup is the settings of a run, from every source, and the faults in them.
type Setup struct {
	Settings
	Faults   []*Fault
	Hints    []string         // a hint for several faults, given once
	places   map[string]Place // where the settings were made, by the paths of their keys
	Warnings []string

	// Waiting are the keys whose new values need a restart, if these are the settings of a
	// reload. The values in use stay.
	Waiting []*Fault
	running *Setup // the settings in use, in a reload
	// callersKnown says that the file could be read as far as it says which callers there are.
	callersKnown bool
	judges       map[string]*guardhttp.Guard // the guards, by their servers and tokens
}

// Sources are where settings come from, in order of increasing precedence: the
// defaults, a file, the environment, the flags.
type Sources struct {
	File      string
	Getenv    func(string) string
	Overrides []Override             // by flags, and by their environment variables
	Given     func(flag string) bool // whether a flag is on the command line
	// Running, if this is a reload, are the settings that are in use.
	Running *Setup
	// NoAgents says that the program has no agents, so that settings of agents are faults.
	NoAgents bool
}

// Read collects the settings. It fails if the file cannot be read.
func Read(from Sources, names *dialectset.Set) (*Setup, error) {
	s := &Setup{places: map[string]Place{}, running: from.Running}
	s.defaults(from.Getenv)
	if from.File != "" {
		if err := s.readable(from.File); err != nil {
			return nil, fmt.Errorf("%s: %w", from.File, err)
		}
		r, err := s.readConfig(from.File)
		if err != nil {
			return nil, err
		}
		s.Faults, s.places, s.Hints, s.callersKnown = r.faults(), r.places(), r.keyHints(), r.callersKnown
	}
	s.override(slices.Concat(s.keys(), s.flagKeys()), from.Overrides)
	if from.NoAgents { // also in a reload, which would wait with them for a restart
		s.refuseAgents()
	}
	s.keepRunning()
	s.inherit()
	s.readAllSecrets(from)
	s.readTokens(from.Getenv)
	s.decideAccess()
	s.readUpstreams(from.Getenv)
	s.readCollector(from.Getenv)
	s.readGuards()
	s.fillGateway(names)
	s.checkGateway()
	s.checkTLS()
	s.checkAccess()
	s.checkUpstream()
	s.checkShared()
	if s.Takeover && s.Gateway.Data == "" {
		s.fault("takeover", errors.New("the gateway that runs is found by the data folder, and there is none: name one with data"))
	}
	s.checkRoutes()
	s.checkRecord()
	if !from.NoAgents {
		s.checkA2A()
		s.followUpstreamAPI()
	}
	slices.SortStableFunc(s.Faults, func(a, b *Fault) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	s.running = nil // whoever keeps these settings does not keep all that were before them
	return s, nil
}

func (s *Settings) defaults(getenv func(string) string) {
	for _, k := range slices.Concat(s.keys(), s.flagKeys(), s.limitKeys()) {
		if k.def == "" {
			continue
		}
		if err := k.set(k.def); err != nil {
			panic(fmt.Sprintf("the default of %s: %v", k.name, err))
		}
	}
	s.Gateway.Data = files.StateFolder(getenv)
	s.memory = serving.DefaultMemory()
	s.Connections.Connections = serving.DefaultConnections()
}

// An Override is a setting made by a flag, or by its environment variable.
type Override struct {
	Key   string
	Name  string // of the flag or variable
	Texts []string
}

func (s *Setup) override(keys []key, list []Override) {
	for _, o := range list {
		k, _ := find(keys, o.Key)
		if k.clear != nil {
			k.clear()
		}
		at := Place{name: o.Name}
		s.places[o.Key] = at
		for _, text := range o.Texts {
			if err := k.set(strings.TrimSpace(text)); err != nil {
				s.Faults = append(s.Faults, &Fault{at, o.Key, err})
			}
		}
	}
}

// inherit fills in what a route leaves open from the top of the file.
func (s *Settings) inherit() {
	top := replyKeys(&s.Gateway.Default)
	for r := range s.Gateway.Routes {
		for i, k := range replyKeys(&s.Gateway.Routes[r]) {
			k.inherit(top[i].value)
		}
	}
}

func (s *Setup) fault(key string, err error) { s.Faults = append(s.Faults, s.FaultAt(key, err)) }

// FaultAt returns a fault of the value of a key, with the place where it was set.
func (s *Setup) FaultAt(key string, err error) *Fault { return &Fault{s.places[key], key, err} }

// Said reports whether a key was set, and does not just have its default.
func (s *Setup) Said(key string) bool {
	_, said := s.places[key]
	return said
}

func (s *Setup) warn(format string, args ...any) {
	s.Warnings = append(s.Warnings, fmt.Sprintf(format, args...))
}

// readAllSecrets reads the secrets that have a key and a variable of their own.
func (s *Setup) readAllSecrets(from Sources) {
	s.token.secret.ofCaller = true
	s.sharedSecret.several = true
	for _, k := range s.keys() {
		if t, is := k.secretOf(); is {
			s.readSecret(t, k.name, from)
		}
	}
}

// readSecret reads a secret. It tries the file of the flag, then the environment,
// then the file that the configuration names. No error contains any part of the
// secret.
func (s *Setup) readSecret(to *secret, key string, from Sources) {
	variable := secretVariable(key)
	text := from.Getenv(variable)
	at := s.places[key]
	switch {
	case text != "" && !from.Given(key) && at.name != "":
		s.fault(key, fmt.Errorf("%s is set too: keep one of them", variable))
		return
	case text != "" && !from.Given(key):
		to.file, to.Text = "", strings.TrimSpace(text)
		s.places[key] = Place{name: variable}
	case to.file == "":
		return
	default:
		s.readSecretFile(to, key)
		return
	}
	if err := to.check(); err != nil {
		s.fault(key, err)
	}
}

func (s *Setup) readSecretFile(to *secret, key string) {
	if err := s.readable(to.file); err != nil {
		s.fault(key, err)
		return
	}
	to.once = files.CheckRegular(to.file) != nil
	data, err := files.ReadSecret(to.file)
	if err != nil {
		s.fault(key, err)
		return
	}
	to.Text = strings.TrimRight(string(data), "\r\n")
	if err := to.check(); err != nil {
		s.fault(key, fmt.Errorf("%s: %w", to.file, err))
	}
	if to.shows() {
		s.warnOpenFile(to.file)
	}
}

// warnOpenFile warns about a secret that every user of the machine can read.
func (s *Setup) warnOpenFile(name string) {
	if w := files.WarnOpen(name); w != "" {
		s.warn("%s", w)
	}
}

// fillGateway sets the parts of the gateway's configuration that have no key of
// their own.
func (s *Setup) fillGateway(names *dialectset.Set) {
	if s.Gateway.Exact == gateway.ExactAlways {
		s.warn("exact: always lets parts of the upstream's frames pass that no guard has seen, and no guard can cut a part of a reply: the next release has no such setting")
	}
	own := new(dialectset.Set)
	for i, file := range s.dialectFiles {
		more, err := new(dialectset.Set), s.readable(file)
		if err == nil {
			more, err = dialectset.Load([]string{file})
		}
		if err != nil {
			s.fault(fmt.Sprintf("dialect-files[%d]", i), err)
			continue
		}
		own.Join(more)
	}
	own.Join(names)
	g := &s.Gateway
	g.Named, g.ForModel = own.Named, own.ForModel
	g.Upstream, g.UpstreamKey, g.Tokens = s.Upstream, s.UpstreamKey.Text, s.allTokens()
	g.Public = !IsLoopback(s.Listen)
	g.Limits.MemoryBytes = s.memory - s.A2AMemory()
	g.Templates = true
}

// Tokens returns all tokens.
func (s *Settings) Tokens() []gateway.Token { return s.Gateway.Tokens }

// checkGateway asks the gateway for faults, and finds where each was made.
func (s *Setup) checkGateway() {
	g := s.Gateway
	if g.Upstream == nil {
		g.Upstream = &url.URL{Scheme: "http", Host: s.ScriptedListen}
	}
	atTop := map[string]bool{}
	for _, wrong := range gatewayFaults(g) {
		path := wrong.Key
		if wrong.Route >= 0 {
			path = fmt.Sprintf("routes[%d].%s", wrong.Route, wrong.Key)
		} else {
			path = s.pathOfToken(path)
			atTop[path] = true
		}
		if _, own := s.places[path]; wrong.Route >= 0 && !own {
			if atTop[wrong.Key] {
				continue // a fault inherited from the top
			}
			s.places[path] = s.places[fmt.Sprintf("routes[%d]", wrong.Route)]
		}
		s.fault(path, wrong.Err)
	}
}

// gatewayFaults returns the faults that the gateway finds. If the dialect is
// unknown, it does not check the start, because most starts would be wrong.
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
	for i, r := range append([]routing.Route{g.Default}, g.Routes...) {
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

// checkUpstream refuses an upstream that is the gateway itself, because every
// request would come back to it.
func (s *Setup) checkUpstream() {
	if u := s.Upstream; u != nil && isOwn(u, s.Listen) {
		s.fault("upstream", fmt.Errorf("%s is the gateway's own address", u))
	}
}

// checkShared refuses a shared state without a secret: its values are sealed. Without a shared
// state, the secret seals the thoughts that clients keep.
func (s *Setup) checkShared() {
	if given, err := sealedslot.Lines(s.sharedSecret.Text); err == nil { // a fault was reported
		s.Gateway.SharedSecret, s.Gateway.OldSecrets = given[0], given[1:]
	}
	switch {
	case s.Shared == "" && s.SharedPassword.file != "":
		s.warn("shared-password-file does nothing without shared")
		return
	case s.Shared == "":
		return
	case !s.sharedSecret.given():
		s.fault("shared", errors.New("what replicas share is sealed with a secret that they have in common: give it with shared-secret-file or SOTTO_SHARED_SECRET, such as one of openssl rand -base64 32"))
	}
	if s.SharedPassword.Text != "" {
		for _, host := range replicas.Unencrypted(s.Shared) {
			if !IsLoopback(host) {
				s.warn("the password of the shared state goes to %s unencrypted: use %s", host, strings.Replace(s.Shared[:strings.Index(s.Shared, ":")], "redis", "rediss", 1))
			}
		}
	}
}

// isOwn reports whether a URL leads to an address of the gateway's listener.
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
		return IsLoopback(to) || ip != nil && (ip.IsUnspecified() || isInterface(ip))
	case strings.EqualFold(to, "localhost") || ip != nil && ip.IsUnspecified():
		return IsLoopback(host)
	case strings.EqualFold(host, "localhost"):
		return ip.Equal(net.IPv4(127, 0, 0, 1)) || ip.Equal(net.IPv6loopback)
	default:
		return ip != nil && ip.Equal(at)
	}
}

// isInterface reports whether an address belongs to this machine.
func isInterface(ip net.IP) bool {
	all, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		own, ok := a.(*net.IPNet)
		return ok && own.IP.Equal(ip)
	})
}

// checkRoutes warns about a route that hides later ones.
func (s *Setup) checkRoutes() {
	all := s.Gateway.Routes
	for i, r := range all[:max(0, len(all)-1)] {
		if len(r.APIs) == 0 && (len(r.Models) == 0 || slices.Contains(r.Models, "*")) {
			path := fmt.Sprintf("routes[%d]", i)
			s.warn("%v", &Fault{s.places[path], path, errors.New("matches every model, so the routes after it are never used")})
			return
		}
	}
}

func aboutToken(f *Fault) bool { return f.key == "token-file" || strings.HasPrefix(f.key, "tokens") }

// IsLoopback reports whether an address, with or without a port, is a loopback
// address of this machine.
func IsLoopback(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// checkRecord reports faults in the settings of the record.
func (s *Setup) checkRecord() {
	_, faults := s.Recording.Options()
	for _, f := range faults {
		key := f.Flag
		if key == "record-recipient" {
			key = "record-recipients"
		}
		if _, said := s.places[key]; !said && s.places["record"].File != "" { // a missing setting
			s.places[key] = s.places["record"]
		}
		s.fault(key, f.Unwrap())
	}
	if s.RecordShip != "" && s.Recording.Record == "" {
		s.fault("record-ship", errors.New("needs --record"))
	}
	for _, name := range []string{s.Recording.RecordSigningKey, s.Recording.RecordDigestKey} {
		if name != "" {
			s.warnOpenFile(name)
		}
	}
}

// checkA2A reports settings of the A2A server as faults if no setting says whether
// there is one. A server that is turned off keeps its settings.
func (s *Setup) checkA2A() {
	if _, said := s.places["a2a"]; said {
		return
	}
	for _, k := range a2aKeys(&s.A2A) {
		if _, said := s.places[k.name]; said {
			s.fault(k.name, errorhint.Usage(errors.New("no A2A agent is served"), "add --a2a (a2a: true in the file) to serve one, or --no-a2a to ignore the setting"))
			return
		}
	}
}

// followUpstreamAPI has the model that answers A2A asked in the API that the upstream speaks, unless a setting
// names another.
func (s *Setup) followUpstreamAPI() {
	if _, said := s.places["a2a-api"]; !said && s.A2A.On && slices.Contains(a2aAPIs, s.Gateway.UpstreamAPI) {
		s.A2A.API = s.Gateway.UpstreamAPI
	}
}

// refuseAgents reports settings of agents as faults, in a program that has none. What is
// turned off is no fault.
func (s *Setup) refuseAgents() {
	refuse := func(key string) {
		s.fault(key, errors.New(`this program has no agents; the program "sotto" has them`))
	}
	if len(s.Agents) > 0 {
		refuse("agents")
	}
	_, said := s.places["a2a"]
	for _, k := range a2aKeys(&s.A2A) {
		if _, own := s.places[k.name]; own && (s.A2A.On && k.name == "a2a" || !said) {
			refuse(k.name)
		}
	}
}

// a2aShare is the part of the memory for exchanges that requests of A2A may hold, as
// a divisor, and a2aMost is the most that they may.
const (
	a2aShare = 4
	a2aMost  = 256 << 20
)

// A2AMemory is how much of limits.memory the A2A servers may hold together; 0 if
// there are none. The gateway has the rest.
func (s *Settings) A2AMemory() int64 {
	if !s.A2A.On {
		return 0
	}
	return min(s.memory/a2aShare, a2aMost)
}
