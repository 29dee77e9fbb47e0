package switches

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/data/jsonedit"
)

// Find returns what a request says about thinking, and the top-level members that say it. The
// body must be a JSON object that was checked.
func Find(body []byte) (says Setting, members []string, err error) {
	list, err := find(jsonedit.Parse(body))
	if err != nil {
		return says, nil, err
	}
	for _, s := range list {
		name, _, _ := strings.Cut(s.path, ".")
		members = append(members, name)
	}
	says, err = join(list)
	return says, members, err
}

// Members returns the members that say a setting in the words of a server, as a JSON object. most
// is the number of tokens that the reply may have; 0 if the request does not say.
func Members(api string, words Words, s Setting, most int) ([]byte, error) {
	if s == (Setting{}) {
		return []byte("{}"), nil
	}
	words = cmp.Or(words, Native).In(api)
	if words == "" {
		return nil, fmt.Errorf("the request has a switch of thinking, and %s has none", api)
	}
	sets, err := writer{words, api, most}.write(s)
	if err != nil {
		return nil, err
	}
	return build(nil, sets), nil
}
