package recordcmd

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/base/visible"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
)

type indexCommand struct {
	source
	Again bool `help:"Make also those again that fit."`
	JSON  bool `name:"json" help:"Print JSON."`
}

// Help explains what is made.
func (indexCommand) Help() string {
	return `Makes a file beside each segment of the record, its sidecar: facts about each event, identifiers, and the words of the texts. ls, show, grep, stats and table then read only what a question needs. sotto serve makes them while it records; this command makes those that are missing, also while a program writes the record. Segments of less than 256 KiB get none: they are read as fast without.

A sidecar is made of its segment alone and is never needed: remove it when you like. It is removed with its segment by sotto record prune. The sidecars of an encrypted record need --identity, and are encrypted for the same identities. sotto record verify --sidecars compares them with the record.

Of a record in object storage, s3://BUCKET/PREFIX, the segments are copied, and the sidecars that the store lacks are put there; --again replaces those that it has. Those of 1 GiB of segments are merged into one object, so that a question takes fewer requests. sotto record ship does both itself, except for an encrypted record.

The object: {"v":1,"segments","made","bytes","sidecar_bytes","skipped":[{"segment","why"}]}, the sum of all records in the folder. The exit status is 1 if a segment was skipped.`
}

// Run makes the sidecars.
func (x *indexCommand) Run(sh *shell.Shell) error {
	ids, err := recording.ReadIdentities(x.Identity)
	if err != nil {
		return fmt.Errorf("--identity: %w", err)
	}
	set, err := x.records()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	total := struct {
		V int `json:"v"`
		sidecar.Made
	}{V: 1}
	for _, from := range set.Sources() {
		o := sidecar.Options{Identities: ids, Again: x.Again}
		if _, err := from.Reader(); err != nil {
			return from.Err(err)
		}
		m, err := sidecar.Make(ctx, from.Dir, o)
		if err != nil {
			return from.Err(err)
		}
		if from.Copy != nil {
			if m.Made, err = from.Copy.PutSidecars(ctx, x.Again, o); err != nil {
				return from.Err(err)
			}
		}
		total.Segments += m.Segments
		total.Made.Made += m.Made
		total.Bytes += m.Bytes
		total.Sidecars += m.Sidecars
		for _, s := range m.Skipped {
			total.Skipped = append(total.Skipped, s)
			sh.Errorf("%v", from.Err(fmt.Errorf("%s: %s", visible.Line(s.Segment), visible.Line(s.Why))))
		}
	}
	if x.JSON {
		err = shell.PrintJSON(sh.Out, total)
	} else {
		_, err = fmt.Fprintf(sh.Text, "%s, %d made now: %d bytes for %d of the record\n", shorttext.Plural(total.Segments, "1 segment has a sidecar", "%d segments have sidecars"), total.Made.Made, total.Sidecars, total.Bytes)
	}
	if err == nil && len(total.Skipped) > 0 {
		err = batch.ErrFailed
	}
	return err
}

// A lookedFlag says what a search looked at.
type lookedFlag struct {
	Looked bool `help:"Say on standard error how much was read, and what has no sidecar: see sotto record index."`
}

func (l *lookedFlag) say(sh *shell.Shell, set *recordset.Set) {
	if l.Looked {
		sh.Hintf("%v", set.Looked())
	}
}
