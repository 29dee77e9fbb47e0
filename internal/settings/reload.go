package settings

import (
	"errors"
	"reflect"
	"slices"
)

// fixed are the keys that need a restart. Every other key can change while the gateway
// runs.
var fixed = []string{
	"listen", "tls-cert", "tls-key", "tls-client-ca", "tls-domains", "acme-accept-terms", "acme-email", "acme-directory", "acme-ca", "acme-listen", "data", "takeover", "shared", "shared-secret-file", "shared-password-file",
	"record", "record-policy", "record-reasoning", "record-answer", "record-id", "record-patterns", "record-digest-key", "record-signing-key",
	"record-recipients", "record-keep", "record-keep-size", "record-ship", "console", "console-listen", "agents",
	"a2a", "a2a-model", "a2a-api", "a2a-system", "a2a-agent", "a2a-name", "a2a-url", "a2a-reasoning", "a2a-push-to",
	"shutdown-delay", "shutdown-wait", "log-format", "otel-endpoint", "otel-content", "debug-listen",
	"limits.connections", "limits.connections-per-address", "limits.header", "limits.learned", "limits.restored", "limits.restored-bytes",
	"limits.restored-for", "limits.labels", "limits.conversations", "limits.conversations-bytes", "limits.conversation", "limits.conversations-for",
}

// byPath returns the keys of the file, except those of tokens and routes, by their paths.
func (s *Settings) byPath() map[string]key {
	all := map[string]key{}
	for _, k := range s.keys() {
		all[k.name] = k
	}
	for _, k := range s.limitKeys() {
		all["limits."+k.name] = k
	}
	return all
}

// keepRunning puts the values in use in place of those that need a restart, and notes
// where they differ. It comes before the checks, which so see the settings as they will
// be: a key that changes at once may be wrong together with one that cannot change.
func (s *Setup) keepRunning() {
	if s.running == nil {
		return
	}
	now, next := s.running.byPath(), s.byPath()
	for _, path := range fixed {
		if !reflect.DeepEqual(now[path].get(), next[path].get()) {
			s.wait(path)
		}
	}
	old := &s.running.Settings
	if s.upstreamStays(old) && !reflect.DeepEqual(now["upstream"].get(), next["upstream"].get()) {
		s.wait("upstream")
		s.Upstream = old.Upstream
	}
	s.Listen, s.TLS, s.ACME, s.Takeover = old.Listen, old.TLS, old.ACME, old.Takeover
	s.Shared, s.sharedSecret, s.SharedPassword = old.Shared, old.sharedSecret, old.SharedPassword
	s.Recording, s.RecordShip = old.Recording, old.RecordShip
	s.Console, s.ConsoleListen, s.Agents, s.A2A = old.Console, old.ConsoleListen, old.Agents, old.A2A
	s.ShutdownDelay, s.ShutdownWait, s.LogFormat, s.DebugListen = old.ShutdownDelay, old.ShutdownWait, old.LogFormat, old.DebugListen
	s.Otel, s.OtelContent, s.Collector = old.Otel, old.OtelContent, old.Collector
	s.Connections, s.Conversations = old.Connections, old.Conversations
	g, was := &s.Gateway, &old.Gateway
	g.Data, g.Limits.Header, g.Limits.Labels, g.Limits.Learned = was.Data, was.Limits.Header, was.Limits.Labels, was.Limits.Learned
	g.Limits.Restored, g.Limits.RestoredBytes, g.Limits.RestoredFor = was.Limits.Restored, was.Limits.RestoredBytes, was.Limits.RestoredFor
}

// upstreamStays reports whether a new upstream needs a restart: the scripted upstream is a
// server of its own, and A2A has a client of its own.
func (s *Settings) upstreamStays(old *Settings) bool {
	return (s.Upstream == nil) != (old.Upstream == nil) || old.A2A.On
}

// wait notes a key whose new value needs a restart.
func (s *Setup) wait(path string) {
	s.Waiting = append(s.Waiting, s.FaultAt(path, errors.New("needs a restart: the value in use stays")))
}

// Files are the files that a reload reads again: the configuration, the dialects and the
// secrets.
func (s *Setup) Files(config string) []string {
	all := append([]string{config, s.token.secret.file, s.UpstreamKey.file, s.guard.token.file}, s.dialectFiles...)
	for _, g := range s.guards {
		all = append(all, g.token.file)
	}
	for _, u := range s.Upstreams {
		all = append(all, u.key.file)
	}
	for _, t := range s.tokens {
		all = append(all, t.secret.file)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(name string) bool { return name == "" })
}

// Secrets are the credentials that no log and no record may hold.
func (s *Settings) Secrets() []string {
	list := append([]string{s.Gateway.UpstreamKey}, s.GuardTokens()...)
	for _, u := range s.Gateway.Upstreams {
		list = append(list, u.Key)
	}
	for _, t := range s.Tokens() {
		list = append(list, t.Secret)
	}
	return list
}
