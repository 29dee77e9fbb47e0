package leakscmd

import (
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/reply/leak"
)

// families counts the replies by their families, as the commands that read replies choose
// them. It is safe for concurrent use.
type families struct {
	names *dialectset.Set
	mu    sync.Mutex
	// found are the replies whose markers chose the family, because no dialect is known for
	// their models.
	found dialectset.Tally
}

func newFamilies(names *dialectset.Set) *families { return &families{names: names} }

// see looks at a reply.
func (f *families) see(r leak.Reply) {
	if r.Model != "" {
		if _, known := f.names.ForModel(r.Model); known {
			return
		}
	}
	m := dialectset.Manner{Grammar: sotto.Default(), By: dialectset.ByDefault, Start: sotto.BeginAuto}
	if f.names.Choose(&m, r.Text); m.By == dialectset.ByMarkers {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.found.Note(m)
	}
}

// tally returns the counts of all replies of a report.
func (f *families) tally(r *leak.Report) *dialectset.Tally {
	all := &dialectset.Tally{Replies: r.Replies, Read: f.found.Read}
	name := sotto.Default().Dialect().Name
	left := -f.found.Replies // of the models that have no dialect
	for _, g := range r.Groups {
		if known, ok := f.names.ForModel(g.Model); ok {
			all.Read = append(all.Read, dialectset.Count{Dialect: known.Dialect().Name, By: dialectset.ByModel, Replies: g.Replies})
			continue
		}
		left += g.Replies
	}
	if left > 0 {
		all.Read = append(all.Read, dialectset.Count{Dialect: name, By: dialectset.ByDefault, Replies: left})
	}
	return all.Joined()
}

// A counted takes the replies of a record, and counts their families.
type counted struct {
	*leak.Record
	families *families
}

func (c *counted) Reply(r leak.Reply) {
	c.families.see(r)
	c.Record.Reply(r)
}
