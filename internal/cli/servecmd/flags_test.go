package servecmd

import (
	"slices"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/cli/environment"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// parsed returns the settings that a command line and an environment make.
func parsed(t *testing.T, args []string, env map[string]string) []settings.Override {
	t.Helper()
	getenv := func(name string) string { return env[name] }
	c := Command{Settings: Flags()}
	parser, err := kong.New(&c, kong.Resolvers(environment.Resolver(getenv)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := parser.Parse(args)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return c.overrides(ctx, getenv)
}

// TestEveryFlag: each flag sets its key alone, and so does its variable, which it takes
// precedence over.
func TestEveryFlag(t *testing.T) {
	for _, f := range settings.Flags() {
		text, other, several := "x", "y", []string{"x", "z"}
		arg, variable := []string{"--" + f.Name + "=x"}, "x"
		switch {
		case f.Placeholder == "":
			text, other, several = "true", "false", []string{"true"}
			arg, variable = []string{"--" + f.Name}, "true"
		case f.List:
			arg, variable = append(arg, "--"+f.Name, "z"), "x,z"
			if f.Colons {
				variable = "x:z"
			}
		default:
			several = several[:1]
		}
		want := settings.Override{Key: f.Key, Name: "--" + f.Name, Texts: several}
		one := func(args []string, env map[string]string) {
			t.Helper()
			list := parsed(t, args, env)
			if len(list) != 1 || list[0].Key != want.Key || list[0].Name != want.Name || !slices.Equal(list[0].Texts, want.Texts) {
				t.Errorf("%q %v: %+v, want %+v", args, env, list, want)
			}
		}
		one(arg, nil)
		one(arg, map[string]string{f.Variable: other})
		want.Name = f.Variable
		one(nil, map[string]string{f.Variable: variable})
		if f.Short != "" && f.Placeholder != "" {
			want.Name = "--" + f.Name
			one([]string{"-" + f.Short, text}, nil)
		}
		if f.Negatable {
			want = settings.Override{Key: f.Key, Name: "--" + f.Name, Texts: []string{"false"}}
			one([]string{"--no-" + f.Name}, nil)
		}
	}
	if list := parsed(t, nil, nil); len(list) > 0 {
		t.Errorf("without flags: %+v", list)
	}
}
