package recordcmd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordship"
)

type shipCommand struct {
	Dir   string        `arg:"" name:"dir" help:"The folder of the record."`
	To    string        `arg:"" name:"url" help:"Where to: s3://BUCKET/PREFIX. Records of several writers can share it."`
	Watch bool          `short:"w" help:"Ship what is written from now on too, until an interrupt."`
	Every time.Duration `default:"5s" placeholder:"TIME" help:"With --watch: the time between two steps (${default})."`
}

// Help explains where the objects are.
func (shipCommand) Help() string {
	return `Copies the record to a store that speaks the S3 protocol, and never changes what is there: whole segments, the end of the last one in parts, and after each step an object with the head. The folder stays the record. What the store confirmed is noted in the folder, so that a run that was killed continues; without the note everything is shipped again, under the same names.

The store must honour If-None-Match: this is tried first, with a small object that stays. AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL names the server, AWS_REGION the region, and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, the credentials. The right to put objects suffices.

sotto serve does the same with --record-ship.

Examples:

    sotto record ship audit s3://records/production
    sotto record ship audit s3://records/production --watch
    sotto record verify s3://records/production --key audit.pub`
}

// Validate checks the address.
func (x *shipCommand) Validate() error {
	if _, err := objects.Parse(x.To); err != nil {
		return err
	}
	if x.Every < 100*time.Millisecond {
		return fmt.Errorf("--every %v: want 100ms or more", x.Every)
	}
	return nil
}

// Run ships the record.
func (x *shipCommand) Run(sh *shell.Shell) error {
	to, err := objects.Parse(x.To)
	if err != nil {
		return err
	}
	if err := recording.CheckFolder(x.Dir); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s, err := recordship.Open(ctx, x.Dir, to, recordship.Options{
		Every: x.Every, Bucket: objects.Options{Getenv: sh.Getenv}, Log: sh.Log(slog.LevelInfo),
	})
	if errors.Is(err, recordship.ErrShipping) {
		return errorhint.Add(err, "one process ships a record to a place; sotto serve --record-ship does it too")
	}
	if err != nil {
		return err
	}
	defer s.Close()
	if x.Watch {
		err = s.Run(ctx)
		if err == nil { // what was written until the interrupt
			last, cancel := context.WithTimeout(context.Background(), recordship.LastStep)
			defer cancel()
			err = s.Step(last)
		}
	} else {
		err = s.Step(ctx)
	}
	if err != nil {
		return err
	}
	if s.ID() == "" {
		_, err = fmt.Fprintln(sh.Text, "the record has no event yet")
		return err
	}
	_, err = fmt.Fprintf(sh.Text, "record %s\nhead: %s\n", s.ID(), s.Head())
	return err
}
