package agent

import (
	"context"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto/model"
)

// TestBudgetBelow: an agent below a turn may take what is left to its caller and no more
// than its own limits, of tokens and of time; the same holds for the agents below it.
func TestBudgetBelow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.Int64Range(0, 5)
		limit := func(what string) Limits {
			return Limits{Tokens: few.Draw(t, what+" tokens"), Time: time.Duration(few.Draw(t, what+" time"))}
		}
		// left is what a run may still take at the most, if it has a limit.
		left := func(limit, taken, own int64) (int64, bool) {
			switch rest := max(limit-taken, 0); {
			case limit <= 0:
				return own, own > 0
			case own <= 0:
				return rest, true
			default:
				return min(rest, own), true
			}
		}
		run := &budget{limits: limit("run"), took: Usage{Input: few.Draw(t, "earlier tokens"), Time: time.Duration(few.Draw(t, "earlier time"))}}
		caller := &turn{took: Usage{Output: few.Draw(t, "tokens"), Time: time.Duration(few.Draw(t, "time"))}}
		own := limit("own")
		below := run.below(caller, own)
		tokens, some := left(run.limits.Tokens, run.took.Tokens()+caller.took.Tokens(), own.Tokens)
		spent, timed := left(int64(run.limits.Time), int64(run.took.Time+caller.took.Time), int64(own.Time))
		for took := range int64(7) {
			for during := range int64(7) {
				want := Bound("")
				switch {
				case some && took >= tokens:
					want = BoundTokens
				case timed && during >= spent:
					want = BoundTime
				}
				if got := below.hit(&turn{took: Usage{Input: took, Time: time.Duration(during)}}); got != want {
					t.Fatalf("after %d tokens and %d of the time: %q, want %q", took, during, got, want)
				}
			}
		}
		if got := (*budget)(nil).below(caller, own).limits; got != own {
			t.Fatalf("without a budget above: %+v, want %+v", got, own)
		}
	})
}

// TestBudgetTime: the time that is left is that of the run, less what it took before this
// turn and in it.
func TestBudgetTime(t *testing.T) {
	b := &budget{limits: Limits{Time: 10 * time.Second}, took: Usage{Time: 3 * time.Second}}
	for spent, want := range map[time.Duration]time.Duration{0: 7 * time.Second, 2 * time.Second: 5 * time.Second, 8 * time.Second: time.Millisecond} {
		if got := b.time(&turn{took: Usage{Time: spent}}); got != want {
			t.Errorf("after %v in this turn %v are left, want %v", spent, got, want)
		}
	}
	if got := (&budget{took: Usage{Time: time.Second}}).time(&turn{}); got != 0 {
		t.Errorf("without a limit: %v", got)
	}
}

// TestDecisionLines: a mark counts at the beginning of a line, also after the marks that
// Markdown puts there; the kinds of marks that a policy has count alike.
func TestDecisionLines(t *testing.T) {
	p := selective{marks: []string{"Decision:", "Choice:"}, tools: []string{"decide"}}
	for text, want := range map[string]bool{
		"Decision: bread": true, "So.\n  Choice: rye": true, "- **Decision:** bread": true, "> Decision: bread": true, "### Choice: rye": true, "\t* Decision: x": true,
		"No Decision: here": false, "decision: lower case": false, "": false, "Fine.\nAnd a choice.": false,
	} {
		if got := p.keeps(said{visible: text}); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestRetrieveSkipsWhatIsTooLong: a thought that does not fit leaves room for a shorter,
// less related one.
func TestRetrieveSkipsWhatIsTooLong(t *testing.T) {
	long := "bread ovens flour bakers " + strings.Repeat("bread ovens flour bakers ", 20)
	r := &run{memories: []memory{{cycle: 1, thoughts: []string{long}}, {cycle: 2, reflection: "bread ovens flour bakers", thoughts: []string{"bread ovens and a town"}}}}
	r.x = &Experiment{ThoughtBudget: 100}
	if got := strings.Join((retrieve{}).bring(r), "\n"); !strings.Contains(got, "a town") || strings.Contains(got, "Cycle 1") {
		t.Errorf("it brings %q", got)
	}
}

// TestWindowWarnsBeforeItIsFull: a run says that the reply may be cut when less than a tenth of
// the window is left, or less than the reply may have, and not before.
func TestWindowWarnsBeforeItIsFull(t *testing.T) {
	for _, c := range []struct {
		name        string
		size, reply int
		prompt      int // tokens
		want        string
	}{
		{"a tenth is left", 1000, 0, 900, ""},
		{"less than a tenth is left", 1000, 0, 901, "The reply may be cut."},
		{"the reply has room", 1000, 300, 700, ""},
		{"the reply has no room", 1000, 300, 701, "The reply may be cut."},
		{"one is missing", 1000, 0, 999, "The reply may be cut."},
		{"it is full", 1000, 0, 1000, "The server may cut the prompt"},
	} {
		w := &window{size: c.size, bytes: 1, tokens: 1} // a byte is a token
		q := &model.Request{MaxTokens: c.reply, Messages: []model.Message{{Role: model.User, Text: strings.Repeat("x", c.prompt)}}}
		if n := w.estimate(promptBytes(q)); n != int64(c.prompt) {
			t.Fatalf("a prompt of %d bytes has about %d tokens", c.prompt, n)
		}
		var said []string
		tn := &turn{window: w}
		tn.Observer.OnWindow = func(r WindowReport) { said = append(said, r.Text) }
		if err := tn.room(context.Background(), q); err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(said, " "); c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}
