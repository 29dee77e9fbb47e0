package settings

import (
	"fmt"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// The values of the setting access.
const (
	accessClosed = "closed" // callers need a token, even if there is none
	accessOpen   = "open"   // nobody needs one
)

// decideAccess decides whether callers need a token. They do if a setting is about tokens,
// even if no token is left in it: a file or a list that has become empty must not let
// everybody in. A gateway that runs closed stays closed, whatever a reload says.
func (s *Setup) decideAccess() {
	about := s.aboutTokens()
	switch {
	case s.Access == accessOpen && s.running != nil && s.running.Gateway.Closed:
		s.wait("access")
		s.Access = s.running.Access
	case s.Access == accessOpen && about != "":
		s.fault("access", fmt.Errorf("open contradicts %s: remove one of them", about))
	}
	s.Gateway.Closed = about != "" || s.Access == accessClosed || s.running != nil && s.running.Gateway.Closed
}

// ServesOthers reports whether the settings say that other machines are served without a
// token.
func (s *Settings) ServesOthers() bool { return s.InsecurePublic || s.Access == accessOpen }

// aboutTokens returns the setting that says that there are tokens; "" if there is none.
func (s *Setup) aboutTokens() string {
	if s.token.secret.given() {
		return "token-file"
	}
	if s.tokensGiven {
		return "tokens"
	}
	return ""
}

// Guarded reports whether clients need a token.
func (s *Settings) Guarded() bool { return s.Gateway.Closed || len(s.Tokens()) > 0 }

// Shut reports whether clients need a token, and none is valid now.
func (s *Settings) Shut() bool { return s.Guarded() && !access.AnyValid(s.Tokens()) }

// AccessHint says how to give other machines access.
const AccessHint = "give clients a token with --token-file or SOTTO_TOKEN, ask them for a certificate with --tls-client-ca, or say --insecure-public"

// ShutText says what it means that no token is valid, and what to do.
const ShutText = "no token is valid, so nobody can use the gateway: add a token to a token file; to need none, remove the settings of tokens, and restart with access: open"

// Closed reports whether not everybody who reaches the gateway may use it: clients
// need a token, or a certificate of their own.
func (s *Settings) Closed() bool { return s.Guarded() || s.TLS.ClientCA != "" }

// checkAccess refuses to give other machines access without a token, unless the
// settings say so.
func (s *Setup) checkAccess() {
	g := &s.Gateway
	if g.Public && !s.Closed() && !s.ServesOthers() && !slices.ContainsFunc(s.Faults, aboutToken) {
		s.fault("listen", errorhint.Usage(fmt.Errorf("%s is open to other machines, and there is no token", s.Listen), AccessHint))
	}
	if g.Public && !s.Closed() && s.ServesOthers() {
		how := "insecure-public"
		if s.Access == accessOpen {
			how = "access: open"
		}
		s.warn("everybody who can reach %s can use the models and see the metrics: there is no token (%s)", s.Listen, how)
		if slices.Contains(g.AllowHosts, "*") {
			s.warn("any web page can point its host name at this gateway and use the models: * is an allowed host, and there is no token")
		}
	}
	s.checkTokens()
	if s.Shut() {
		s.warn(ShutText)
	}
	if slices.Contains(g.AllowOrigins, "*") && !s.Guarded() {
		s.warn("any web page may use the gateway: * is an allowed origin, and there is no token")
	}
	if u := g.Upstream; u != nil && u.Scheme == "http" && g.UpstreamKey != "" && !IsLoopback(u.Host) {
		s.warn("the upstream's key goes to %s unencrypted: its URL is http", u.Host)
	}
}
