package servecmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/texttable"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/datafolder"
)

// printLearned lists the learned starts of a data folder.
func (c *Command) printLearned(sh *shell.Shell, folder string) error {
	learned, err := openLearned(folder)
	if err != nil {
		return err
	}
	starts := learned.Starts()
	for i := range starts {
		starts[i].Last = slices.Grow(starts[i].Last, 1) // [] in JSON, not null
	}
	if c.JSON {
		return shell.PrintJSON(sh.Out, struct {
			V      int                    `json:"v"`
			Starts []gateway.LearnedStart `json:"starts"`
		}{1, starts})
	}
	if len(starts) == 0 {
		sh.Hintf("nothing is learned yet, in %s", folder)
		return nil
	}
	rows := [][]string{{"MODEL", "UPSTREAM", "SWITCH", "CALLER", "START", "LAST", "FIELD", "SEEN"}}
	for _, l := range starts {
		rows = append(rows, []string{l.Model, l.Upstream, cmp.Or(l.Switch, "-"), cmp.Or(l.Caller, "-"), cmp.Or(l.Start(), "?"), lastStarts(l), cmp.Or(l.Native, "?"), l.Seen.Format(time.RFC3339)})
	}
	if err := texttable.Print(sh.Text, rows); err != nil {
		return err
	}
	if slices.ContainsFunc(starts, func(l gateway.LearnedStart) bool { return len(l.Last) == 0 }) {
		sh.Hintf("LAST none: no reply has shown yet how replies begin. A closing tag shows it only if it is alone on its line, and makes streams wait for their first tag in any case. To set it, use start: in a route")
	}
	return nil
}

// forget forgets the learned starts of the matching models.
func (c *Command) forget(sh *shell.Shell, folder string) error {
	learned, err := openLearned(folder)
	if err != nil {
		return err
	}
	n, err := learned.Forget(modelPattern(c.Forget.text))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(sh.Out, "forgotten: %d\n", n)
	if err == nil && n == 0 && !strings.Contains(c.Forget.text, "*") && len(learned.Starts()) > 0 {
		sh.Hintf("a pattern matches the whole name of a model; * matches any characters. sotto serve --learned lists the names")
	}
	return err
}

// modelPattern writes a name in the form of a pattern for models, because it may
// have been copied from the list.
func modelPattern(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	return strings.NewReplacer(":", "-", "@", "-").Replace(strings.ToLower(name))
}

func openLearned(folder string) (*gateway.Learned, error) {
	if folder == "" {
		return nil, errorhint.Usage(errors.New("there is no folder for the learned starts"), "name one with --data DIR")
	}
	if err := datafolder.Check(folder); err != nil {
		return nil, err
	}
	return gateway.OpenLearned(folder, 0)
}

// lastStarts describes how the last replies began.
func lastStarts(l gateway.LearnedStart) string {
	return cmp.Or(strings.Join(l.Last, ", "), "none")
}
