package cli

import (
	"cmp"
	"fmt"

	"github.com/sotto-llm/sotto"
)

// A reading holds the flags that say how a reply is read.
type reading struct {
	Dialect string `short:"d" placeholder:"NAME" xor:"dialect" setting:"SOTTO_DIALECT" help:"Read the reply in this dialect; see sotto dialects."`
	Model   string `short:"m" placeholder:"NAME" xor:"dialect" setting:"SOTTO_MODEL" help:"Read the reply in the dialect of this model."`
	Start   string `short:"s" placeholder:"START" setting:"SOTTO_START" help:"Where the reply begins: outside every block; inside the first reasoning block, which the prompt opened, or inside:NAME; auto where it is unknown."`
	End     string `short:"e" placeholder:"END" setting:"SOTTO_END" help:"How the reply ended: stopped of itself, cut at a limit, aborted, or unknown."`
}

// manner looks up the flags; without --start the reply begins
// as the dialect says, or as given here.
func (r *reading) manner(sh *shell, c *catalogue, start sotto.Start) (manner, error) {
	var m manner
	if err := m.end.UnmarshalText([]byte(r.End)); err != nil {
		return m, usage(fmt.Errorf("--end: %w", err), "")
	}
	var err error
	if m.grammar, err = r.grammar(sh, c); err != nil {
		return m, err
	}
	m.name = m.grammar.Dialect().Name
	m.start = cmp.Or(sotto.Start(r.Start), ownStart(m.grammar), start)
	if _, err := m.grammar.NewSplitter(sotto.Options{Start: m.start}); err != nil {
		return m, startError(err, "want outside, inside, inside:NAME or auto")
	}
	return m, nil
}

// startError says that a start is wrong; the error begins with "start".
func startError(err error, want string) error {
	return usage(fmt.Errorf("--start: %s", withoutName("start", err)), want)
}

func (r *reading) grammar(sh *shell, c *catalogue) (*sotto.Grammar, error) {
	if r.Model == "" {
		g, err := c.named(r.Dialect)
		if err != nil {
			return nil, unknownDialect(err)
		}
		return g, nil
	}
	g, known := c.forModel(r.Model)
	if !known {
		sh.hintf("no dialect is known for model %q; reading it in the default dialect", r.Model)
		return sotto.Default(), nil
	}
	return g, nil
}
