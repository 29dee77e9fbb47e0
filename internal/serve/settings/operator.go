package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/net/access"
)

// WithoutOperator says which callers may use the models and not what only operators may,
// which they could before there was a scope for it. It is empty if all may.
func (s *Settings) WithoutOperator() string {
	var names []string
	for _, t := range s.Tokens() {
		if slices.Contains(t.Scopes, access.Models) && !slices.Contains(t.Scopes, access.Operator) && !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	who, has, they := "token", "has", "it"
	if len(names) > 1 {
		who, has, they = "tokens", "have", "they"
	}
	return fmt.Sprintf("the %s %s %s no scope operator: %s can no longer pull or delete models, use routes that the gateway does not know, "+
		"or use files, batches and stored responses of others or from before the upgrade (docs/access.md)", who, strings.Join(names, ", "), has, they)
}
