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

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/gateway"
)

// A serveSetup is the settings of a run, from every source, and what is wrong
// with them.
type serveSetup struct {
	serveSettings
	faults   []*misstep
	places   map[string]place // where the settings were made, by their keys' paths
	warnings []string
}

// settings gathers the settings: the defaults, over them the file, over it the
// environment, over it the flags. It fails where the file cannot be read.
func (c *serveCommand) settings(sh *shell, names *catalogue, ctx *kong.Context) (*serveSetup, error) {
	s := &serveSetup{places: map[string]place{}}
	s.defaults(sh.getenv)
	if c.Config != "" {
		r, err := s.readConfig(c.Config)
		if err != nil {
			return nil, err
		}
		s.faults, s.places = r.faults, r.places
	}
	s.override(c.overrides(ctx, sh.getenv))
	s.inherit()
	s.readSecret(&s.token, "token-file", "SOTTO_TOKEN", sh.getenv, ctx)
	s.readSecret(&s.upstreamKey, "upstream-key-file", "SOTTO_UPSTREAM_KEY", sh.getenv, ctx)
	s.fillGateway(names)
	s.checkGateway(c.ScriptedListen)
	s.checkDoors()
	slices.SortStableFunc(s.faults, func(a, b *misstep) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	return s, nil
}

func (s *serveSettings) defaults(getenv func(string) string) {
	for _, k := range slices.Concat(s.keys(), limitKeys(&s.gateway.Limits)) {
		if k.def == "" {
			continue
		}
		if err := k.set(k.def); err != nil {
			panic(fmt.Sprintf("the default of %s: %v", k.name, err))
		}
	}
	s.gateway.Data = stateFolder(getenv)
}

// An override is a setting by a flag, or by its variable in the environment.
type override struct {
	key   string
	name  string // of the flag or variable
	texts []string
}

func (c *serveCommand) overrides(ctx *kong.Context, getenv func(string) string) []override {
	var list []override
	add := func(key string, texts ...string) {
		if len(texts) > 0 && texts[0] != "" {
			list = append(list, override{key, spokenAs(ctx, strings.TrimSuffix(key, "s")), texts}) // allow-origins
		}
	}
	add("listen", c.Listen)
	add("upstream", c.Upstream)
	add("upstream-key-file", c.UpstreamKeyFile)
	add("token-file", c.TokenFile)
	add("insecure-public", onOff(c.InsecurePublic))
	add("pass-all", onOff(c.PassAll))
	add("allow-origins", c.origins(getenv)...)
	add("data", c.Data)
	add("dialect", c.Dialect)
	add("start", c.Start)
	add("display", c.Display)
	add("reasoning-field", c.ReasoningField)
	add("narration", c.Narration)
	add("history", c.History)
	add("history-dry-run", onOff(c.HistoryDryRun))
	add("shutdown-wait", c.ShutdownWait)
	add("log-format", c.LogFormat)
	return list
}

// spokenAs returns how a flag was given: by itself, or by its variable.
func spokenAs(ctx *kong.Context, flag string) string {
	for _, f := range ctx.Flags() {
		if f.Name == flag && !given(ctx, flag) {
			return cmp.Or(f.Tag.Get("setting"), originVariable)
		}
	}
	return "--" + flag
}

const originVariable = "SOTTO_ALLOW_ORIGIN"

// origins returns the flags, or the list of the environment. It is parted by
// commas: an origin holds colons.
func (c *serveCommand) origins(getenv func(string) string) []string {
	if text := getenv(originVariable); len(c.AllowOrigin) == 0 && text != "" {
		return strings.Split(text, ",")
	}
	return c.AllowOrigin
}

func onOff(on *bool) string {
	if on == nil {
		return ""
	}
	return fmt.Sprint(*on)
}

func (s *serveSetup) override(list []override) {
	keys := s.keys()
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
func (s *serveSetup) readSecret(to *secret, key, variable string, getenv func(string) string, ctx *kong.Context) {
	text := getenv(variable)
	at := s.places[key]
	switch {
	case text != "" && !given(ctx, key) && at.name != "":
		s.fault(key, fmt.Errorf("%s is set too: want one of them", variable))
		return
	case text != "" && !given(ctx, key):
		*to = secret{text: strings.TrimSpace(text)}
		s.places[key] = place{name: variable}
	case to.file == "":
		return
	default:
		data, err := os.ReadFile(to.file)
		if err != nil {
			s.fault(key, fmt.Errorf("read %s: %w", to.file, cause(err)))
			return
		}
		to.text = strings.TrimRight(string(data), "\r\n")
		s.warnOpenFile(to.file)
	}
	if err := checkSecret(to.text); err != nil {
		s.fault(key, err)
	}
}

// warnOpenFile warns of a secret that every user of the machine can read.
func (s *serveSetup) warnOpenFile(name string) {
	if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" {
		s.warn("%s holds a secret and can be read by every user of this machine: chmod o-rwx it", name)
	}
}

// checkSecret reports a secret that no header can hold.
func checkSecret(text string) error {
	if text == "" {
		return errors.New("the secret is empty")
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("the secret holds white space, control characters or letters beyond ASCII")
	}
	return nil
}

// fillGateway sets what of the gateway's configuration is no key of its own.
func (s *serveSetup) fillGateway(names *catalogue) {
	own := new(catalogue)
	for i, file := range s.dialectFiles {
		more, err := loadCatalogue([]string{file})
		if err != nil {
			s.fault(fmt.Sprintf("dialect-files[%d]", i), err)
			continue
		}
		own.added = append(own.added, more.added...)
	}
	own.added = append(own.added, names.added...)
	g := &s.gateway
	g.Named, g.ForModel = own.named, own.forModel
	g.Upstream, g.UpstreamKey, g.Token = s.upstream, s.upstreamKey.text, s.token.text
	g.Public = !isLoopback(s.listen)
}

// checkGateway asks the gateway for what is wrong, and finds where it was set.
func (s *serveSetup) checkGateway(scripted string) {
	g := s.gateway
	if g.Upstream == nil {
		g.Upstream = &url.URL{Scheme: "http", Host: scripted}
	}
	atTop := map[string]bool{}
	for _, err := range g.Check() {
		wrong, ok := errors.AsType[*gateway.ConfigError](err)
		if !ok {
			s.fault("", err)
			continue
		}
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

const doorsHint = "give clients a token with --token-file or SOTTO_TOKEN, or say --insecure-public"

// checkDoors refuses to let other machines in without a token, unless told.
func (s *serveSetup) checkDoors() {
	g := &s.gateway
	if g.Public && g.Token == "" && !s.insecurePublic && !slices.ContainsFunc(s.faults, aboutToken) {
		s.fault("listen", usageError{fmt.Errorf("%s lets other machines in, and there is no token", s.listen), doorsHint})
	}
	if slices.Contains(g.AllowOrigins, "*") && g.Token == "" {
		s.warn("any web page may use the gateway: * is an allowed origin, and there is no token")
	}
	if u := g.Upstream; u != nil && u.Scheme == "http" && g.UpstreamKey != "" && !isLoopback(u.Host) {
		s.warn("the upstream's key goes to %s unencrypted: its URL is http", u.Host)
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
