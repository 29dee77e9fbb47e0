package cli

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/cli/program"
	"github.com/sotto-llm/sotto/internal/cli/reading"
	"github.com/sotto-llm/sotto/internal/lab/shards"
)

// invocationOf says how a command was called.
func invocationOf(ctx *kong.Context) *reading.Invocation {
	command, _, _ := strings.Cut(ctx.Command(), " ")
	return &reading.Invocation{Command: command, Version: program.Build(), Settings: func() (map[string]string, error) { return settingsOf(ctx) }}
}

// maxSettingFile bounds a file that a flag names, such as that of the right answers.
const maxSettingFile = 4 << 30

// whichAndWhere are the flags that say which part of the work is done and where its result
// goes.
var whichAndWhere = []string{"shard", "output", "resume", "record", "html"}

// settingsOf returns the flags that are set to other values than their defaults, except for
// whichAndWhere. The value of a
// flag that names a file is the digest of the file.
func settingsOf(ctx *kong.Context) (map[string]string, error) {
	set := map[string]string{}
	for _, f := range ctx.Flags() {
		if f.Target.IsZero() || slices.Contains(whichAndWhere, f.Name) {
			continue
		}
		value := fmt.Sprint(reflect.Indirect(f.Target).Interface())
		if value == f.Default {
			continue
		}
		isFile := f.PlaceHolder == "FILE"
		if f.Name == "compare" { // a file, or settings
			info, err := os.Stat(value)
			isFile = err == nil && info.Mode().IsRegular()
		}
		if isFile && f.Target.Kind() == reflect.String {
			digest, err := shards.FileDigest(value, maxSettingFile)
			if err != nil {
				return nil, fmt.Errorf("--%s %s: %w", f.Name, value, files.Cause(err))
			}
			value = digest
		}
		set[f.Name] = value
	}
	return set, nil
}
