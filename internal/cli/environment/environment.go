// Package environment takes flags from the environment if the command line does not
// set them.
package environment

import (
	"fmt"
	"path/filepath"

	"github.com/alecthomas/kong"
)

// Resolver resolves the flags that have a setting tag from the environment.
func Resolver(getenv func(string) string) kong.ResolverFunc {
	return func(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		name := flag.Tag.Get("setting")
		value := getenv(name)
		if name == "" || value == "" || overridden(ctx, flag, getenv) {
			return nil, nil
		}
		if flag.IsSlice() {
			var list []any
			for _, item := range filepath.SplitList(value) {
				list = append(list, item)
			}
			return list, nil
		}
		return value, nil
	}
}

// overridden reports whether another flag takes precedence over this one. Of
// --dialect and --model, the one on the command line takes precedence; otherwise
// the dialect does.
func overridden(ctx *kong.Context, flag *kong.Flag, getenv func(string) string) bool {
	for _, other := range []string{"dialect", "model"} {
		rival := (flag.Name == "dialect" && other == "model") || (flag.Name == "model" && other == "dialect")
		if rival && (Given(ctx, other) || (flag.Name == "model" && getenv("SOTTO_DIALECT") != "")) {
			return true
		}
	}
	return false
}

// Given reports whether a flag is on the command line.
func Given(ctx *kong.Context, name string) bool {
	for _, path := range ctx.Path {
		if path.Flag != nil && path.Flag.Name == name && !path.Resolved {
			return true
		}
	}
	return false
}

// Describe adds the environment variable to a flag's help.
func Describe(value *kong.Value) string {
	if name := value.Tag.Get("setting"); name != "" {
		return fmt.Sprintf("%s ($%s)", value.Help, name)
	}
	return kong.DefaultHelpValueFormatter(value)
}
