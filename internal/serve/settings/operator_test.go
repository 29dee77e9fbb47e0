package settings_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// A check names the callers that lose something by the scope operator, and nobody else.
func TestWithoutOperator(t *testing.T) {
	of := func(name string, scopes ...gateway.Scope) gateway.Token {
		return gateway.Token{Name: name, Secret: "s-" + name, Scopes: scopes}
	}
	for want, tokens := range map[string][]gateway.Token{
		"": {of("all"), of("ops", gateway.ScopeModels, gateway.ScopeOperator), of("prometheus", gateway.ScopeMetrics)},
		"the token alice has no scope operator: it can":         {of("all"), of("alice", gateway.ScopeModels)},
		"the tokens alice, ci have no scope operator: they can": {of("alice", gateway.ScopeModels), of("alice", gateway.ScopeModels), of("ci", gateway.ScopeModels, gateway.ScopeAgent)},
	} {
		var s settings.Settings
		s.Gateway.Tokens = tokens
		if got := s.WithoutOperator(); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
