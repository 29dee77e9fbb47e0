package settings

import (
	"fmt"
	"maps"
	"slices"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/serve/guardhttp"
)

// SecretFiles are the files of tokens and keys, which are followed whatever the state of
// the configuration.
func (s *Setup) SecretFiles() (all []string) {
	keys := s.byPath()
	for _, one := range s.secrets() {
		if !keys[one.key].restart && !one.once {
			all = append(all, one.file)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Refresh returns settings in use with the tokens and keys as their files have them now. A
// token that cannot be read any more is not valid any more. A key for another server that
// cannot be read stays. What is wrong with the files are the faults of the new settings,
// which can be used all the same.
//
// rejected, if it is not nil, are the settings of a configuration that has faults. None of
// its values is used, but what it takes away from callers is gone: it has no such caller, or
// gives one fewer scopes.
func (s *Setup) Refresh(rejected *Setup) *Setup {
	next := *s
	next.running, next.Faults, next.Warnings, next.Waiting = s, nil, nil, nil
	next.tokens = slices.Clone(s.tokens)
	next.Upstreams, next.guards = slices.Clone(s.Upstreams), slices.Clone(s.guards)
	next.Gateway.Routes, next.Gateway.Upstreams = slices.Clone(s.Gateway.Routes), maps.Clone(s.Gateway.Upstreams)
	next.rereadTokens()
	if rejected != nil && rejected.callersKnown {
		next.narrow(rejected)
	}
	next.rereadKeys()
	next.Gateway.Tokens = next.usable()
	next.running = nil
	return &next
}

// rereadTokens reads the files of tokens.
func (s *Setup) rereadTokens() {
	s.rereadToken(&s.token.secret, "token-file")
	for i := range s.tokens {
		s.rereadToken(&s.tokens[i].secret, yamlfile.Join("tokens", s.tokens[i].name)+".token-file")
	}
}

func (s *Setup) rereadToken(t *secret, key string) {
	if t.file == "" || t.once {
		return
	}
	file := t.file
	*t = secret{file: file, ofCaller: true}
	s.readSecretFile(t, key)
}

// narrow takes from callers what other settings do not give them.
func (s *Setup) narrow(other *Setup) {
	if !other.token.secret.given() {
		s.token = namedToken{}
	}
	s.tokens = slices.DeleteFunc(s.tokens, func(t namedToken) bool {
		i := slices.IndexFunc(other.tokens, func(o namedToken) bool { return o.name == t.name })
		return i < 0 || other.tokens[i].secret.file != t.secret.file || other.tokens[i].variable != t.variable
	})
	kept := s.tokens[:0]
	for _, t := range s.tokens {
		o := other.tokens[slices.IndexFunc(other.tokens, func(o namedToken) bool { return o.name == t.name })]
		_, given := other.places[yamlfile.Join("tokens", t.name)+".scopes"]
		had := len(t.scopes) > 0
		if had || given {
			t.scopes = common(t.scopes, o.scopes, given)
		}
		if (had || given) && len(t.scopes) == 0 {
			continue // without a list it would have those that are implied
		}
		kept = append(kept, t)
	}
	s.tokens = kept
}

// common returns the scopes that a token has by both of two lists. An empty list stands for
// the implied scopes, except for the second one if it is given.
func common(first, second []string, given bool) []string {
	implied := access.Names(access.Implied())
	if len(first) == 0 {
		first = implied
	}
	if !given {
		second = implied
	}
	return slices.DeleteFunc(slices.Clone(first), func(scope string) bool { return !slices.Contains(second, scope) })
}

// rereadKeys reads the files of keys for other servers.
func (s *Setup) rereadKeys() {
	s.rereadKey(&s.UpstreamKey, "upstream-key-file")
	s.Gateway.UpstreamKey = s.UpstreamKey.Text
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		s.rereadKey(&u.key, yamlfile.Join("upstreams", u.Name)+".key-file")
		if to, ok := s.Gateway.Upstreams[u.Name]; ok {
			to.Key = u.key.Text
			s.Gateway.Upstreams[u.Name] = to
		}
	}
	s.rereadKey(&s.guard.token, "guard-token-file")
	s.judges = map[string]*guardhttp.Guard{}
	s.makeGuard("", &s.Gateway.Default.Guard, &s.guard)
	for i := range s.guards {
		s.rereadKey(&s.guards[i].token, fmt.Sprintf("routes[%d].guard-token-file", i))
		s.makeGuard(fmt.Sprintf("routes[%d].", i), &s.Gateway.Routes[i].Guard, &s.guards[i])
	}
}

func (s *Setup) rereadKey(k *secret, key string) {
	if k.file == "" || k.once {
		return
	}
	next := secret{file: k.file}
	before := len(s.Faults)
	if s.readSecretFile(&next, key); len(s.Faults) == before {
		*k = next
	}
}

// usable returns the tokens of all callers, except those that two callers have: nobody can
// tell whose they are.
func (s *Setup) usable() (list []gateway.Token) {
	all := s.allTokens()
	for _, t := range all {
		if err := access.Ambiguous(t, all); err != nil {
			s.fault(yamlfile.Join("tokens", t.Name), err)
		} else if !slices.ContainsFunc(list, t.SameValue) {
			list = append(list, t)
		}
	}
	return list
}

// readable reports a file that may have no end, such as the pipe of a shell: it was read at
// the start.
func (s *Setup) readable(name string) error {
	if s.running == nil {
		return nil
	}
	return files.CheckRegular(name)
}
