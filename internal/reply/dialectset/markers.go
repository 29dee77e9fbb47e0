package dialectset

import (
	"cmp"
	"slices"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/reply/detect"
	"github.com/sotto-llm/sotto/internal/reply/leak"
)

// Auto is the name of no dialect: the reply chooses.
const Auto = "auto"

// A chooser finds the family of a reply by its markers.
type chooser struct {
	base    *sotto.Grammar
	foreign *detect.Detector // of all markers that the default dialect does not know
	tokens  *detect.Detector // of those that are unmistakable
	leaks   *leak.Finder
}

func (c *Set) newChooser() *chooser {
	base, rows := sotto.Default(), c.Dialects()
	if g, err := c.Named(""); err == nil {
		base = g
	}
	used := base.Dialect()
	return &chooser{base, detect.Foreign(rows, used), detect.Unmistakable(rows, used), leak.New(rows)}
}

// Choose changes m to the family of a whole reply, if nothing else says which one it is and
// its markers do: special tokens of one family. They do if the reply begins with one that
// opens a block. They also do if reading in the default dialect would show a thought, as
// sotto leaks counts, and reading in the family's shows nothing that the default dialect
// takes for reasoning. A guess can so hide text, but never show a thought.
func (c *Set) Choose(m *Manner, reply string) {
	if by := c.chooserOf(m); by != nil {
		if m.Plain = !by.foreign.Any(reply); !m.Plain {
			c.choose(m, reply, by)
		}
	}
}

// chooserOf returns what chooses a family, or nil if something else says which one it is.
func (c *Set) chooserOf(m *Manner) *chooser {
	if m.By != ByDefault {
		return nil
	}
	c.once.Do(func() { c.byMarkers = c.newChooser() })
	if m.Grammar != c.byMarkers.base {
		return nil
	}
	return c.byMarkers
}

// choose changes m to the family of a reply that has a marker which the default dialect does
// not know.
func (c *Set) choose(m *Manner, reply string, by *chooser) {
	names, begins := by.tokens.Families(reply)
	if len(names) == 0 {
		return
	}
	var usual *sotto.Reply
	if !begins {
		var err error
		if usual, err = m.Grammar.Parse(reply, m.Start, m.End); err != nil {
			return
		}
		l, leaks := by.leaks.Find(usual.Visible(), sotto.EndStopped, leak.Answer)
		if !leaks || !slices.Contains(names, l.Dialect) {
			return
		}
	}
	least, was := -1, m.Start
	for _, name := range names {
		g, err := c.Named(name)
		if err != nil {
			continue
		}
		start := was
		if !m.Given {
			start = cmp.Or(OwnStart(g), start)
		}
		read, err := g.Parse(reply, start, m.End)
		if err != nil || usual != nil && showsMore(read, usual) {
			continue
		}
		if n := len(read.Visible()); least < 0 || n < least {
			least = n
			m.Grammar, m.Name, m.By, m.Start = g, name, ByMarkers, start
		}
	}
}

// showsMore reports whether a reading has text in what another one withholds.
func showsMore(read, than *sotto.Reply) bool {
	i := 0
	for _, s := range read.Segments {
		if s.Channel != sotto.ChannelText {
			continue
		}
		for ; i < len(than.Segments) && than.Segments[i].End <= s.Start; i++ {
		}
		for _, other := range than.Segments[i:] {
			if other.Start >= s.End {
				break
			}
			if other.Channel == sotto.ChannelReasoning || other.Channel == sotto.ChannelAside {
				return true
			}
		}
	}
	return false
}
