package bridging

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/data/leftout"
)

// Bounds of naming what was left out: clients and upstreams choose the names.
const (
	mostLeft     = 32
	mostLeftName = 96
	mostNoted    = 256 // of a reply
)

// LeftOut names the members of the request and of the reply so far that were left out, fit to be shown.
func (b *Bridge) LeftOut() []string {
	if b == nil {
		return nil
	}
	all := append(slices.Clone(b.Left), b.reply.names()...)
	var names []string
	for i, name := range all {
		if i == mostLeft {
			return append(names, fmt.Sprintf("%d more", len(all)-i))
		}
		names = append(names, shorttext.Escape(faults.Plain(name), mostLeftName))
	}
	return names
}

// ofReply begins the name of a member of the reply.
const ofReply = "reply."

// Losses are what is left out of a reply.
type losses struct {
	mu   sync.Mutex
	list []string // the names, in the order in which they came
}

func (l *losses) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

// note notes the members of a frame of a reply, or of a whole one, that go to no client of another API.
func (l *losses) note(of *leftout.Reply, data []byte) (err error) {
	of.Find(data, func(f leftout.Finding) {
		if f.Answer && err == nil {
			err = fmt.Errorf("the upstream's reply has %s, for which this API has no place", shorttext.Escape(f.Path, mostLeftName))
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if name := ofReply + f.Path; len(l.list) < mostNoted && !slices.Contains(l.list, name) {
			l.list = append(l.list, name)
		}
	})
	return err
}
