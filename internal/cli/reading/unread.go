package reading

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
)

// Unread is the flag that makes a run fail if the markers of too many replies were not
// read.
type Unread struct {
	MaxUnread string `name:"max-unread" default:"1%" placeholder:"SHARE" help:"Exit with status 5 if more replies of a log have markers of a dialect in which they were not read, so that a thought counts as the answer (${default})."`
}

// ValidateUnread refuses what is no share.
func (u *Unread) ValidateUnread() error {
	_, err := Share("max-unread", u.MaxUnread)
	return err
}

// CheckUnread returns an error if too many replies were not read.
func (u *Unread) CheckUnread(t *dialectset.Tally) error {
	share, err := Share("max-unread", u.MaxUnread)
	if err != nil {
		return err
	}
	if n := t.Missed(); float64(n) > share*float64(t.Replies) {
		return shell.GateFailed(fmt.Errorf("%d of %d replies have markers that were not read, which is more than --max-unread %s", n, t.Replies, u.MaxUnread))
	}
	return nil
}

// Share returns the share that a flag gives, such as 0.8 or 80%.
func Share(flag, text string) (float64, error) {
	number, percent := strings.CutSuffix(text, "%")
	share, err := strconv.ParseFloat(number, 64)
	if percent {
		share /= 100
	}
	if err != nil || !(share >= 0 && share <= 1) {
		return 0, fmt.Errorf("--%s %s: want a share from 0 to 1, or from 0%% to 100%%", flag, text)
	}
	return share, nil
}
