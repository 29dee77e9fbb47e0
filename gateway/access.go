package gateway

import (
	"github.com/sotto-llm/sotto/gateway/internal/admission"
	"github.com/sotto-llm/sotto/gateway/internal/lists"
	"github.com/sotto-llm/sotto/gateway/internal/observing"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/net/access"
)

// A Token is what one caller sends as its API key. Its Name is in the log and in the
// record, and its Secret never is; a Hash may stand in its place. Its Scopes are what it
// opens; without any, it opens everything. Its Limits bound what the caller may do in this
// process; replicas do not share them. Its fields are
//
//	Name    string       // letters, digits, dots, hyphens and underscores
//	Secret  string       // what the caller sends
//	Hash    string       // in place of the secret: what sotto token hash prints
//	Scopes  []Scope      // if empty, all except consent
//	Expires time.Time    // if not zero, when the token stops being valid
//	Limits  CallerLimits
type Token = access.Token

// A Scope is a part of a server that a token opens.
type Scope = access.Scope

// The scopes of a token.
const (
	ScopeModels   Scope = "models"   // the models, and what the caller made at the upstream, such as files
	ScopeOperator Scope = "operator" // administering the upstream, every other route, and what every caller made there
	ScopeRecord   Scope = "record"   // reading the record
	ScopeConsole  Scope = "console"  // looking at this process: the metrics, and the servers beside the gateway that show it
	ScopeAgent    Scope = "agent"    // the A2A server beside the gateway
	ScopeMetrics  Scope = "metrics"  // the metrics alone
	ScopeDebug    Scope = "debug"    // the debug server beside the gateway alone
	ScopeConsent  Scope = "consent"  // agreeing to calls of agents; only a token that lists it has it
)

func newAdmission(c Config) *admission.Control {
	return admission.New(admission.Rules{
		Rules: access.Rules{
			Name: "gateway", Public: c.Public, Tokens: c.tokens(), Closed: c.Closed, AllowHosts: c.AllowHosts, AllowOrigins: c.AllowOrigins,
			Expose:    []string{faultname.Header, "Sotto-Diagnostics", "Sotto-History", "Sotto-Thinking", observing.FiguresHeader, lists.FailedHeader, observing.IDHeader},
			MaxHeader: c.Limits.Header, Log: c.Logger,
		},
		PassAll: c.PassAll, Hides: c.hides(), Prefix: c.PathPrefix, Keys: c.keys(), Several: len(c.Upstreams) > 0,
	})
}

// tokens returns all tokens, also the one that has no name of its own.
func (c *Config) tokens() []Token {
	if c.Token == "" {
		return c.Tokens
	}
	return append([]Token{{Name: access.Single, Secret: c.Token}}, c.Tokens...)
}
