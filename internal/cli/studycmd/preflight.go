package studycmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/base/diskroom"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/study"
)

// bytesOfCall is about how much a call of a model leaves in the record: a prompt and
// a reply of a few thousand tokens.
const bytesOfCall = 32 << 10

// preflight asks each server once whether the cells can run, and lists all that is
// wrong.
func (x *runCommand) preflight(ctx context.Context, sh *shell.Shell, f *study.File, plans *study.Plans, dir string) error {
	left, calls, servers := unfinished(plans, dir)
	wrong := 0
	asked := map[string]bool{}
	for _, c := range left {
		p := plans.Of[c.ID]
		if p.Check == nil || asked[p.CheckKey] {
			continue
		}
		asked[p.CheckKey] = true
		if err := p.Check(ctx); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			wrong++
			sh.Errorf("%s: %v", nameOf(c), err)
		}
	}
	for url := range f.Servers {
		if !slices.Contains(servers, url) && len(left) == len(plans.Manifest.Cells) {
			wrong++
			sh.Errorf("%s: servers: no cell uses %s", f.FileName(), url)
		}
	}
	needs := calls * bytesOfCall
	if room := diskroom.Free(existing(dir)); room > 0 && needs > room {
		wrong++
		sh.Errorf("%s: about %s are needed (%d calls), and the disk has %s", dir, bytesize.Format(needs), calls, bytesize.Format(room))
	}
	if wrong > 0 {
		return errorhint.Add(errors.New(shorttext.Plural(wrong, "1 thing would stop cells; nothing was run", "%d things would stop cells; nothing was run")),
			"--skip-check runs the study nevertheless")
	}
	if x.Check {
		_, err := fmt.Fprintf(sh.Text, "%s: %s (%d left), at most %s, %s; nothing wrong\n", f.FileName(), shorttext.Count(len(plans.Manifest.Cells), "cell"), len(left),
			shorttext.Count(int(calls), "call"), shorttext.Count(len(servers), "server"))
		return err
	}
	return nil
}

// unfinished returns the cells that are not done, how many calls they need at most,
// and their servers.
func unfinished(plans *study.Plans, dir string) (left []*study.Cell, calls int64, servers []string) {
	old, err := study.Open(dir)
	for i := range plans.Manifest.Cells {
		c := &plans.Manifest.Cells[i]
		if err == nil && old.IsDone(c.ID) {
			continue
		}
		left = append(left, c)
		p := plans.Of[c.ID]
		calls += p.Calls
		if p.Server != "" && !slices.Contains(servers, p.Server) {
			servers = append(servers, p.Server)
		}
	}
	return left, calls, servers
}

// existing returns the folder, or the nearest one above it that exists.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
