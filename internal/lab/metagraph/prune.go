package metagraph

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// PruneOptions say what to remove. Failures are not a reason to remove a node: a
// template that does not help here may help elsewhere.
type PruneOptions struct {
	Task  string // only nodes of this task; if empty, of all
	Model string // only nodes that this model earned; if empty, of all
	// Before removes nodes whose last success is older than this time. Without a
	// Model it also removes the IDs of attempts that were learned before it: those
	// of the task, or all.
	Before time.Time
	// Keep is how many nodes of each task and kind stay. Those that solved most
	// stay; an old success counts less. If zero, there is no bound. If negative,
	// none stay.
	Keep   int
	DryRun bool // only report what would be removed
}

// Prune removes nodes and their edges, and returns the removed nodes.
func (g *Graph) Prune(ctx context.Context, o PruneOptions) ([]Ref, error) {
	if err := g.refresh(ctx); err != nil {
		return nil, err
	}
	gone := g.stale(o)
	if o.DryRun || len(gone) == 0 && o.Before.IsZero() {
		return gone, nil
	}
	err := g.change(ctx, func(x *change) error {
		for _, r := range gone {
			if err := x.remove(r); err != nil {
				return err
			}
			point("removed")
		}
		if len(gone) > 0 {
			x.epoch++
		}
		return x.forget(o)
	})
	if err != nil {
		return nil, fmt.Errorf("prune: %w", err)
	}
	return gone, nil
}

// forget removes the old IDs of attempts. The IDs of other tasks stay: what they
// name must not be learned twice.
func (x *change) forget(o PruneOptions) error {
	if o.Before.IsZero() || o.Model != "" {
		return nil
	}
	_, err := x.exec("DELETE FROM done WHERE time < ? AND (? = '' OR task = ?)", micros(o.Before), o.Task, o.Task)
	return err
}

func (x *change) remove(r Ref) error {
	id, _, err := x.node(r)
	if id == 0 || err != nil {
		return err
	}
	for _, q := range []string{"DELETE FROM edge WHERE node = ?", "DELETE FROM node WHERE id = ?"} {
		if _, err := x.exec(q, id); err != nil {
			return err
		}
	}
	x.count(r.Kind, -1)
	return nil
}

// stale returns the nodes to remove.
func (g *Graph) stale(o PruneOptions) []Ref {
	g.mu.RLock()
	defer g.mu.RUnlock()
	now := g.o.Now()
	var gone []Ref
	stays := map[[2]string][]*entry{} // by task and kind
	for _, e := range g.seen.sorted(o.Task) {
		if o.Model != "" && e.Model != o.Model {
			continue
		}
		if e.SolvedAt.Before(o.Before) {
			gone = append(gone, e.Ref)
			continue
		}
		group := [2]string{e.Task, string(e.Kind)}
		stays[group] = append(stays[group], e)
	}
	if o.Keep != 0 {
		worth := func(e *entry) float64 { return float64(e.Solved+e.Seen) * g.freshness(e.SolvedAt, now) }
		for _, list := range stays {
			slices.SortStableFunc(list, func(a, b *entry) int { return cmp.Compare(worth(b), worth(a)) })
			for _, e := range list[min(len(list), max(0, o.Keep)):] {
				gone = append(gone, e.Ref)
			}
		}
	}
	slices.SortFunc(gone, compareRefs)
	return gone
}
