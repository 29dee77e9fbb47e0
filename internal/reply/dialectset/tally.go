package dialectset

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A Tally says how the replies of a run were read. It is the same in any order of them.
type Tally struct {
	Replies int `json:"replies"`
	// Read are all replies, the most first.
	Read []Count `json:"read"`
	// Unread are those of which a thought would be shown, because nothing read its
	// markers, by a dialect that would.
	Unread []Count `json:"unread,omitempty"`
}

// A Count is how many replies were read in a dialect, and what chose it.
type Count struct {
	Dialect string `json:"dialect"`
	By      By     `json:"by,omitempty"`
	Replies int    `json:"replies"`
}

// Note counts a reply that is read in this manner.
func (t *Tally) Note(m Manner) { t.NoteRead(m.Name, m.By, 1) }

// NoteRead counts n replies that are read in a dialect.
func (t *Tally) NoteRead(name string, by By, n int) {
	t.Replies += n
	t.Read = plus(t.Read, Count{name, by, n})
}

// NoteUnread counts a reply with markers of a dialect that were not read.
func (t *Tally) NoteUnread(dialect string) { t.Unread = plus(t.Unread, Count{dialect, "", 1}) }

func plus(list []Count, one Count) []Count {
	for i := range list {
		if list[i].Dialect == one.Dialect && list[i].By == one.By {
			list[i].Replies += one.Replies
			return list
		}
	}
	return append(list, one)
}

// maxCounts bounds the counts of a tally that is read from a file.
const maxCounts = 1000

// Add adds the tally of another part of a run, which may come from a file.
func (t *Tally) Add(part *Tally) error {
	if part == nil {
		return nil
	}
	if len(part.Read) > maxCounts || len(part.Unread) > maxCounts {
		return errors.New("it counts more dialects than there can be")
	}
	read := 0
	for _, c := range slices.Concat(part.Read, part.Unread) {
		if c.Replies < 0 || c.Replies > part.Replies || part.Replies > 1<<48 {
			return fmt.Errorf("its count of replies in dialect %.100q cannot be", c.Dialect)
		}
	}
	for _, c := range part.Read {
		read += c.Replies
		t.Read = plus(t.Read, c)
	}
	for _, c := range part.Unread {
		t.Unread = plus(t.Unread, c)
	}
	if read != part.Replies {
		return fmt.Errorf("it counts %d replies by their dialects, of %d", read, part.Replies)
	}
	t.Replies += part.Replies
	t.Sort()
	return nil
}

// Sort puts the counts in the order of reports.
func (t *Tally) Sort() {
	for _, list := range [][]Count{t.Read, t.Unread} {
		slices.SortFunc(list, func(a, b Count) int {
			return cmp.Or(cmp.Compare(b.Replies, a.Replies), strings.Compare(a.Dialect, b.Dialect), cmp.Compare(a.By, b.By))
		})
	}
}

// Joined returns the tally with one count for each dialect and what chose it, in the order
// of reports.
func (t *Tally) Joined() *Tally {
	all := &Tally{Replies: t.Replies}
	for _, c := range t.Read {
		all.Read = plus(all.Read, c)
	}
	for _, c := range t.Unread {
		all.Unread = plus(all.Unread, c)
	}
	all.Sort()
	return all
}

// Missed returns how many replies have markers that were not read.
func (t *Tally) Missed() (n int) {
	for _, c := range t.Unread {
		n += c.Replies
	}
	return n
}

// String says how replies were read, in one line. It is "" if all were read in the default
// dialect and nothing was missed.
func (t *Tally) String() string {
	if len(t.Unread) == 0 && !slices.ContainsFunc(t.Read, func(c Count) bool { return c.By != ByDefault }) {
		return ""
	}
	var parts []string
	for _, c := range t.Read {
		by := " by " + string(c.By)
		if c.By == ByDefault {
			by = ""
		}
		parts = append(parts, fmt.Sprintf("%s %d%s", shorttext.Escape(c.Dialect, 60), c.Replies, by))
	}
	return strings.Join(parts, " · ")
}
