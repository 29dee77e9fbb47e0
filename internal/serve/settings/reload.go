package settings

import (
	"errors"
	"reflect"
	"slices"
)

// keepRunning puts the values in use in place of those that need a restart, and notes
// where they differ. It comes before the checks, which so see the settings as they will
// be: a key that changes at once may be wrong together with one that cannot change.
func (s *Setup) keepRunning() {
	if s.running == nil {
		return
	}
	old := &s.running.Settings
	keep := func(section string, next, now []key) {
		for i, k := range next {
			if !k.restart {
				continue
			}
			if !reflect.DeepEqual(now[i].get(), k.get()) {
				s.wait(section + k.name)
			}
			k.copy(now[i].value)
		}
	}
	keep("", s.keys(), old.keys())
	keep("limits.", s.limitKeys(), old.limitKeys())
	s.Collector = old.Collector
	if s.upstreamStays(old) && baseURL(&s.Upstream).get() != baseURL(&old.Upstream).get() {
		s.wait("upstream")
		s.Upstream = old.Upstream
	}
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
	all := append([]string{config}, s.dialectFiles...)
	for _, k := range s.everyKey() {
		if t, is := k.secretOf(); is && !k.restart {
			all = append(all, t.file)
		}
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
