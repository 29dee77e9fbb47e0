package servecmd

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// TestLogNamesOwnCommands lets a program of another name log: the commands in the lines are
// its own.
func TestLogNamesOwnCommands(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		sh := shell.New(nil, &out, &out, func(string) string { return "" })
		sh.Own = strings.NewReplacer("sotto token", "sotto-gateway token", "sotto record", "sotto-gateway record").Replace
		s := &settings.Settings{}
		s.LogFormat = format
		log, _ := newLogger(sh, s)
		log.Warn("sotto token new makes a better one", "err", errors.New("run sotto record verify"), "n", 3)
		for _, want := range []string{"sotto-gateway token new makes", "run sotto-gateway record verify"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in %s", format, want, out.String())
			}
		}
	}
}
