package recordset

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/sleep"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/recordship"
)

// again is the time between two looks for what is new in object storage.
const again = 15 * time.Second

// Local returns the folder of one record: dir itself, or, if it is in object storage, that of a
// whole copy with its sidecars, for programs that look at a record for a long time. The copy
// follows the store until ctx ends and done is called.
func Local(ctx context.Context, dir string, log *slog.Logger) (folder string, done func(), err error) {
	if !objects.Is(dir) {
		return dir, func() {}, nil
	}
	bring := func() (string, error) { return local(ctx, dir) }
	if folder, err = bring(); err != nil {
		return "", nil, err
	}
	var following sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	following.Go(func() { follow(ctx, again, dir, bring, log) })
	return folder, func() { stop(); following.Wait() }, nil
}

// local brings what is new of the only record at an address, and returns the folder of the copy.
func local(ctx context.Context, dir string) (string, error) {
	at, err := objects.Parse(dir)
	if err != nil {
		return "", err
	}
	folder, err := recordship.Folder(at, os.Getenv)
	if err != nil {
		return "", err
	}
	list, err := recordship.Mirror(ctx, at, folder, objects.Options{})
	if err != nil {
		return "", err
	}
	if len(list) > 1 {
		return "", errorhint.Usage(fmt.Errorf("%s holds %d records, and one is shown", dir, len(list)), "name one: "+list[0].URL)
	}
	return filepath.Clean(list[0].Dir), nil
}

// follow brings what is new every so often. An error is logged once until it works again.
func follow(ctx context.Context, every time.Duration, dir string, bring func() (string, error), log *slog.Logger) {
	failed := false
	for sleep.For(ctx, every) == nil {
		_, err := bring()
		if ctx.Err() != nil {
			return
		}
		if err != nil && !failed {
			log.Warn("what is new in the record cannot be read", "from", dir, "error", err.Error())
		}
		failed = err != nil
	}
}
