package settings

import "github.com/sotto-llm/sotto/internal/net/access"

// A Caller is a caller of the gateway, by the name under which its tokens stand.
type Caller struct {
	Name      string
	TokenFile string // "" if its tokens are elsewhere
	TokenEnv  string
}

// ReadCallers returns the callers of a configuration file, whatever else is wrong in it: a
// fault must not keep anybody from taking a token away. It fails if the file cannot be read
// as far as it says which callers there are.
func ReadCallers(name string) ([]Caller, error) {
	var s Settings
	r, err := s.readConfig(name)
	if err != nil {
		return nil, err
	}
	if faults := r.faults(); !r.callersKnown && len(faults) > 0 {
		return nil, faults[0]
	}
	var list []Caller
	if s.token.secret.file != "" {
		list = append(list, Caller{Name: access.Single, TokenFile: s.token.secret.file})
	}
	for _, t := range s.tokens {
		list = append(list, Caller{t.name, t.secret.file, t.variable})
	}
	return list, nil
}
