package recordset

import (
	"context"
	"log/slog"
	"os"
	"sync"

	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordship"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// Follow opens one record for a program that looks at it for a long time: that of a folder, or one
// in object storage, of which it notices what is new until done is called.
func Follow(ctx context.Context, from string, o record.ReadOptions, log *slog.Logger) (store *sidecar.Store, done func() error, err error) {
	done = func() error { return nil }
	if !objects.Is(from) {
		r, err := recording.OpenReader(from, o)
		if err != nil {
			return nil, nil, err
		}
		return sidecar.Of(r), done, nil
	}
	at, err := objects.Parse(from)
	if err != nil {
		return nil, nil, err
	}
	folder, err := recordship.Folder(at, os.Getenv)
	if err != nil {
		return nil, nil, err
	}
	live, err := recordship.OpenLive(ctx, at, folder, recordship.LiveOptions{Log: log})
	if err != nil {
		return nil, nil, err
	}
	if store, err = sidecar.OpenAway(live.Dir(), o, live); err != nil {
		live.Close()
		return nil, nil, err
	}
	var following sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	following.Go(func() { live.Run(ctx) })
	return store, func() error {
		stop()
		following.Wait()
		return live.Close()
	}, nil
}
