package thoughtscmd

import (
	"errors"
	"fmt"
	"iter"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/thoughts"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

// events returns the events of the records. A line that cannot be read is reported and
// counted in bad.
func (x *Command) events(sh *shell.Shell, bad *int) (iter.Seq2[recordset.Event, error], error) {
	ids, err := recording.ReadIdentities(x.Identity)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	set, err := recordset.Open(x.Dir, record.ReadOptions{Identities: ids})
	if err != nil {
		return nil, readHint(err)
	}
	return func(yield func(recordset.Event, error) bool) {
		for e, err := range thoughts.Events(set, x.filter.Run) {
			var line *record.LineError
			if errors.As(err, &line) && !errors.Is(err, record.ErrSealed) {
				*bad++
				sh.Errorf("%v", err)
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}, nil
}
