package cli

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli/shell"
)

// An environment variable has one meaning: it sets flags of one name, in every
// command that has them. Otherwise a variable for one command breaks another.
func TestVariablesHaveOneMeaning(t *testing.T) {
	var line commandLine
	parser, err := newParser(&line, shell.New(strings.NewReader(""), nil, nil, func(string) string { return "" }))
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]string{} // by variable
	err = kong.Visit(parser.Model, func(node kong.Visitable, next kong.Next) error {
		if flag, ok := node.(*kong.Flag); ok {
			name := flag.Tag.Get("setting")
			if other := flags[name]; name != "" && other != "" && other != flag.Name {
				t.Errorf("%s sets --%s and --%s", name, other, flag.Name)
			}
			flags[name] = flag.Name
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	if flags["SOTTO_MODEL"] != "model" {
		t.Errorf("SOTTO_MODEL sets %q: the test sees too little", flags["SOTTO_MODEL"])
	}
}
