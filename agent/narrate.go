package agent

import (
	"context"
	"strings"
	"sync"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/reply/sourcetext"
)

// The bounds of what one call narrates.
const (
	maxNarrations = 1000
	maxNarration  = 1 << 10 // bytes of each
)

// Narrate reports the progress of a tool to whoever watches the turn, as narration.
// ctx is that of [Tool.Call]. The text may come from another program: it is shown as
// one line of at most 1 KiB, without reasoning and secrets, and a call can narrate
// 1,000 times. The texts of one call are read as one reply, so a thought may go on over
// several of them. After the call has ended, Narrate does nothing.
func Narrate(ctx context.Context, text string) {
	if n, ok := ctx.Value(narratorKey{}).(*narrator); ok {
		n.say(text)
	}
}

type narratorKey struct{}

// A narrator passes on what one call narrates.
type narrator struct {
	mu    sync.Mutex
	turn  *turn
	name  string
	texts *sourcetext.Filter
	left  int // 0 after the call
}

func (t *turn) narrator(name string) *narrator {
	n := &narrator{turn: t, name: name}
	if t.Observer.OnNarration != nil && t.journal.live() {
		texts, err := sourcetext.New(t.Grammar, sotto.BeginOutside)
		if err != nil {
			return n // a text that cannot be cleaned is withheld
		}
		n.texts, n.left = texts, maxNarrations
	}
	return n
}

func (n *narrator) say(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.left > 0 {
		n.tell(n.texts.Add(strings.ToValidUTF8(text, "\uFFFD")))
	}
}

// tell shows texts, a line for each.
func (n *narrator) tell(texts []string) {
	for _, text := range texts {
		text = shorttext.OneLine(n.turn.plain(text))
		if text == "" || n.left == 0 {
			continue
		}
		n.left--
		n.turn.Observer.OnNarration(n.name + ": " + shorttext.Ellipsis(text, maxNarration) + "\n")
	}
}

func (n *narrator) end() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.left > 0 {
		n.tell(n.texts.Close())
	}
	n.left = 0
}

// plain returns a text of a tool as people may see it: without reasoning and secrets.
func (t *turn) plain(text string) string {
	return t.Secrets.Redact(remembered(t.Grammar, strings.ToValidUTF8(text, "\uFFFD")))
}
