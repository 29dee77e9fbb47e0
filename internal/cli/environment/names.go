package environment

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/spelling"
)

// prefix begins the names of all variables of Sotto.
const prefix = "SOTTO_"

// others are the variables that commands read, and that set no flag: secrets, and a folder.
var others = []string{
	"SOTTO_A2A_TOKEN", "SOTTO_AGAINST_TOKEN", "SOTTO_CACHE_DIR", "SOTTO_CONSOLE_TOKEN", "SOTTO_MCP_TOKEN", "SOTTO_PROBE_TOKEN",
}

// ours are the variables of the project's own tests and scripts.
var ours = []string{
	"SOTTO_A2AJS", "SOTTO_ADVERSARY", "SOTTO_ADVERSARY_SEED", "SOTTO_APPS", "SOTTO_BILL", "SOTTO_BINARY", "SOTTO_DATA", "SOTTO_DEPTH",
	"SOTTO_EFFORT", "SOTTO_END_WITH_INPUT", "SOTTO_GEMINI_CLI", "SOTTO_KEY", "SOTTO_MUTANT", "SOTTO_MUTANTS_LEFT_OUT", "SOTTO_MUTANTS_SEEN",
	"SOTTO_NPM", "SOTTO_NPM_ONLY", "SOTTO_OLD", "SOTTO_OLLAMA", "SOTTO_OLLAMA_DIR", "SOTTO_RELEASE_KEY", "SOTTO_SHOTS", "SOTTO_SILENCE",
	"SOTTO_STOCK_PROXY", "SOTTO_STUDY_CSV", "SOTTO_TEST_CELL", "SOTTO_TEST_GIVEN", "SOTTO_TEST_OTHER", "SOTTO_TEST_SERVER",
}

// maxSlips bounds how many misspelled names are told.
const maxSlips = 5

// Misspelled returns a sentence for each variable that is probably a setting with a slip in
// its name. settings returns the names of those. Other names are left alone: a
// configuration or an agent's file may name variables of the user's own.
func Misspelled(environ []string, settings func() []string) (list []string) {
	var known, short []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		rest, is := strings.CutPrefix(name, prefix)
		if !is || slices.Contains(ours, name) {
			continue
		}
		if known == nil { // most environments have no variable of Sotto
			known = append(settings(), others...)
			for _, k := range known {
				short = append(short, strings.TrimPrefix(k, prefix))
			}
		}
		if slices.Contains(known, name) {
			continue
		}
		if near := spelling.Slip(rest, short); near != "" && len(list) < maxSlips {
			list = append(list, fmt.Sprintf("nothing reads the variable %s: did you mean %s%s?", name, prefix, near))
		}
	}
	return list
}

// Settings returns the variables that are settings of flags in a structure of commands.
func Settings(commands reflect.Type) []string {
	names := map[string]bool{}
	collect(commands, names)
	var list []string
	for name := range names {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func collect(t reflect.Type, names map[string]bool) {
	if t.Kind() != reflect.Struct {
		return
	}
	for field := range t.Fields() {
		if name := field.Tag.Get("setting"); name != "" {
			names[name] = true
		}
		collect(field.Type, names)
	}
}
