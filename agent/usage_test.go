package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/agent/consent"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// A tree is a random tree of agents and peers, which counts what its models and peers spend.
type tree struct {
	t     *rapid.T
	spent []Usage          // by each reply, and by each call of a peer, in order
	peers map[string]Usage // so far, by task
}

// A gambler is a model that calls some tool, or answers.
type gambler struct {
	*tree
	name string
}

func (g gambler) Name() string { return g.name }

// prices are per token, in billionths.
var treePrices = map[string]int64{"root": 3, "middle": 50, "leaf": 700}

func treePrice(name string, in, out int64) (int64, bool) {
	p, ok := treePrices[name]
	return p * (in + 2*out), ok
}

func (g gambler) Invoke(_ context.Context, q model.Request, _ func(model.Delta) error) (model.Reply, error) {
	u := model.Usage{Input: rapid.Int64Range(1, 9).Draw(g.t, "in"), Output: rapid.Int64Range(1, 9).Draw(g.t, "out")}
	u.Reasoning = rapid.Int64Range(0, u.Output).Draw(g.t, "reasoning")
	cost, _ := treePrice(g.name, u.Input, u.Output)
	g.spent = append(g.spent, Usage{Calls: 1, Input: u.Input, Output: u.Output, Reasoning: u.Reasoning, Cost: cost})
	r := model.Reply{Usage: u, End: sotto.EndStopped, Raw: "Said."}
	if n := len(q.Tools); n > 0 && !q.NoCalls && rapid.IntRange(0, 3).Draw(g.t, "calls") > 0 {
		tool := q.Tools[rapid.IntRange(0, n-1).Draw(g.t, "tool")].Name
		r.Raw, r.Calls = "", []model.Call{{ID: "1", Name: tool, Arguments: `{"task":"t"}`}}
	}
	return r, nil
}

// peer is an agent elsewhere: it goes on with some task, and reports the sum of what that took.
func (x *tree) peer(ctx context.Context, _ Use) (string, error) {
	task := rapid.SampledFrom([]string{"a", "b"}).Draw(x.t, "task")
	n := func(what string) int64 { return rapid.Int64Range(0, 9).Draw(x.t, "peer's "+what) }
	now := Usage{Calls: n("calls"), Input: n("in"), Output: n("out"), Cost: n("cost") * 1e6}
	x.spent, x.peers[task] = append(x.spent, now), x.peers[task].plus(now)
	NotePeer(ctx, record.Peer{Task: task, Spent: x.peers[task].Spent("EUR")})
	return "done", nil
}

// turn returns the agent at the root.
func (x *tree) turn(limits Limits) Turn {
	limits.Invocations, limits.Calls = 5, 5
	few := Limits{Invocations: 3, Calls: 3}
	leaf := Subagent{Name: "leaf", Model: gambler{x, "leaf"}, Tools: []string{"peer"}, Limits: few}
	return Turn{
		Model: gambler{x, "root"}, Limits: limits, Price: treePrice, Currency: "EUR",
		Tools:   []Tool{&Func{Name: "peer", Schema: `{"type":"object"}`, Do: x.peer}},
		Agents:  []Subagent{{Name: "middle", Model: gambler{x, "middle"}, Tools: []string{"peer"}, Agents: []Subagent{leaf}, Limits: few}},
		Confirm: rapid.SampledFrom([][]string{nil, {"peer"}, {"leaf"}}).Draw(x.t, "confirm"), Confirmer: PauseToConfirm,
	}
}

// converse answers, and consents to each call that waits, as another process would.
func (x *tree) converse(turn Turn) Outcome {
	o, err := turn.Converse(context.Background(), ask("Go."))
	for err == nil && o.Waiting != nil {
		var w Waiting
		text, _ := json.Marshal(o.Waiting)
		if err = json.Unmarshal(text, &w); err == nil {
			o, err = turn.Consent(context.Background(), w, w.Asked.Yes(consent.Principal{Way: consent.Terminal}))
		}
	}
	if err != nil {
		x.t.Fatal(err)
	}
	return o
}

// sum adds up what the tree spent.
func (x *tree) sum(spent []Usage) (all Usage) {
	for _, u := range spent {
		all = all.plus(u)
	}
	return all
}

// TestTreeOfAgents: what an agent says that it took is the sum of all calls of models in its
// tree, and of what its peers report, however often it waited for a person in between. A tree
// with a limit takes no more than that and one reply, or one call of a peer.
func TestTreeOfAgents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := &tree{t: t, peers: map[string]Usage{}}
		limits := Limits{Tokens: rapid.Int64Range(0, 60).Draw(t, "tokens"), Cost: float64(rapid.IntRange(0, 20_000).Draw(t, "cost")) / 1e9}
		o := x.converse(x.turn(limits))
		got := o.Usage
		got.Time = 0
		if want := x.sum(x.spent); got != want {
			t.Fatalf("the sum is %+v, want %+v", got, want)
		}
		if o.Metrics.InputTokens != got.Input || o.Metrics.OutputTokens != got.Output {
			t.Fatalf("the metrics are %+v, of %+v", o.Metrics, got)
		}
		before := x.sum(x.spent[:len(x.spent)-1])
		if limits.Tokens > 0 && before.Tokens() >= limits.Tokens || billionths(limits.Cost) > 0 && before.Cost >= billionths(limits.Cost) {
			t.Fatalf("of %+v it had taken %+v, and then took %+v", limits, before, x.spent[len(x.spent)-1])
		}
	})
}

// TestRaisedLimits: a tree whose limits somebody raises while it works takes no more than both
// together and one reply, and does not end before: it is asked for the extension where a limit is
// reached, and nowhere else.
func TestRaisedLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := &tree{t: t, peers: map[string]Usage{}}
		limits := Limits{Tokens: rapid.Int64Range(1, 40).Draw(t, "tokens")}
		more := Extension{Tokens: rapid.Int64Range(0, 60).Draw(t, "more"), Invocations: rapid.IntRange(0, 2).Draw(t, "replies")}
		asked := 0
		turn := x.turn(limits)
		turn.extended = func() Extension { asked++; return more }
		o := x.converse(turn)
		all, before := x.sum(x.spent), x.sum(x.spent[:len(x.spent)-1])
		most := limits.Tokens + more.Tokens
		switch {
		case before.Tokens() >= most:
			t.Fatalf("of %d it had taken %d, and then took %+v", most, before.Tokens(), x.spent[len(x.spent)-1])
		case o.Bound == BoundTokens && all.Tokens() < most:
			t.Fatalf("it ended after %d of %d", all.Tokens(), most)
		case o.Bound == BoundTokens && asked == 0:
			t.Fatal("it ended without asking for more")
		case o.Bound == BoundInvocations && o.Metrics.Invocations != 5+more.Invocations:
			t.Fatalf("it ended after %d replies of 5 and %d", o.Metrics.Invocations, more.Invocations)
		}
	})
}

// TestAllowance: what the caller of an agent lets it take lowers its own limits, and what
// remains of both goes to an agent elsewhere.
func TestAllowance(t *testing.T) {
	for _, c := range []struct {
		own  Limits
		a    Allowance
		want Allowance
	}{
		{Limits{}, Allowance{}, Allowance{}},
		{Limits{Tokens: 100}, Allowance{}, Allowance{Tokens: 90}},
		{Limits{}, Allowance{Tokens: 100}, Allowance{Tokens: 90}},
		{Limits{Tokens: 50}, Allowance{Tokens: 100}, Allowance{Tokens: 40}},
		{Limits{Tokens: 50}, Allowance{Tokens: 11}, Allowance{Tokens: 1}},
		{Limits{Tokens: 50}, Allowance{Tokens: math.MaxInt64}, Allowance{Tokens: 40}},
		{Limits{Cost: 1}, Allowance{Cost: 0.5, Currency: "EUR"}, Allowance{Cost: 0.49}},
		{Limits{Cost: 1}, Allowance{Cost: 0.5, Currency: "USD"}, Allowance{Cost: 0.99}},
		{Limits{}, Allowance{Cost: 0.5, Currency: "USD"}, Allowance{}},
	} {
		var got Allowance
		a := Agent{Turn: Turn{
			Model: &parrot{replies: []model.Reply{
				{Calls: []model.Call{{ID: "1", Name: "peer", Arguments: "{}"}}, Usage: model.Usage{Input: 4, Output: 6}, End: sotto.EndStopped},
				{Raw: "Done.", End: sotto.EndStopped, Usage: model.Usage{Input: 1, Output: 1}},
			}},
			Limits: c.own, Currency: "EUR", Price: func(string, int64, int64) (int64, bool) { return 1e7, true },
			Tools: []Tool{&Func{Name: "peer", Schema: `{"type":"object"}`, Do: func(ctx context.Context, _ Use) (string, error) {
				got = Left(ctx)
				return "done", nil
			}}},
		}}
		if _, err := a.Answer(t.Context(), Conversation{Messages: ask("Go."), Allowance: c.a}, func(Event) error { return nil }); err != nil {
			t.Fatal(err)
		}
		if got.Currency = ""; got != c.want {
			t.Errorf("%+v with %+v leaves %+v, want %+v", c.own, c.a, got, c.want)
		}
	}
	if Left(t.Context()) != (Allowance{}) {
		t.Error("outside a call there is a limit")
	}
}

// TestHostileSpent: what an agent elsewhere reports cannot be negative, nor impossible, and a
// lower number than before takes nothing back.
func TestHostileSpent(t *testing.T) {
	note := func(s record.Spent) *record.Spent {
		n := &peerNote{}
		NotePeer(context.WithValue(t.Context(), peerKey{}, n), record.Peer{Task: "t", Spent: &s})
		return n.taken().Spent
	}
	for _, s := range []record.Spent{
		{Input: -1}, {Output: -1}, {Calls: -1}, {Millis: -1}, {Cost: -0.1}, {Reasoning: 1}, {Output: 1, Reasoning: -1}, {Cost: math.NaN()}, {Cost: math.Inf(1)},
		{Cost: maxPeerCost * 1.1}, {Input: maxPeerTokens + 1}, {Output: math.MaxInt64}, {Calls: maxPeerCalls + 1}, {Currency: "<b>"}, {Currency: strings.Repeat("E", 17)},
	} {
		if note(s) != nil {
			t.Errorf("%+v is believed", s)
		}
	}
	u := turn{Turn: Turn{Currency: "EUR"}, peers: map[string]Usage{}}
	call := func(task string, s record.Spent) {
		if note(s) == nil {
			t.Errorf("%+v is not believed", s)
		}
		u.spendPeer(&record.ToolCall{Name: "peer", Peer: &record.Peer{Task: task, Spent: &s}})
	}
	call("a", record.Spent{Calls: 2, Input: 10, Output: 5, Reasoning: 5, Cost: 1, Currency: "EUR"})
	call("a", record.Spent{Input: 1})
	call("a", record.Spent{Calls: 3, Input: 11, Output: 5, Cost: 1, Currency: "EUR"})
	call("b", record.Spent{Input: 100, Cost: 7, Currency: "USD"})
	if want := (Usage{Calls: 3, Input: 111, Output: 5, Reasoning: 5, Cost: 1e9, Unpriced: true}); u.took != want {
		t.Errorf("%+v, want %+v", u.took, want)
	}
	for i := range 100000 {
		u.spendPeer(&record.ToolCall{Name: fmt.Sprint(i), Peer: &record.Peer{Task: "t", Spent: &record.Spent{Input: maxPeerTokens, Output: maxPeerTokens, Cost: maxPeerCost, Currency: "EUR"}}})
	}
	if u.took.Tokens() != math.MaxInt64 || u.took.Cost != math.MaxInt64 {
		t.Errorf("it overflows: %+v", u.took)
	}
}

// TestReplayedUsage: a run that is replayed, and one that is resumed, took what it took, with
// what its peers reported.
func TestReplayedUsage(t *testing.T) {
	dir, calls := t.TempDir(), 0
	x := func() Experiment {
		return Experiment{
			Name: "r", Cycles: 2, Advisory: Advisory{Off: true}, Limits: Limits{Tokens: 10_000}, Currency: "EUR", Price: treePrice,
			Model: scripted(t, "- when: {tool: peer}\n  text: Done.\n- calls: [{name: peer, arguments: {}}]\n"),
			Tools: []Tool{&Func{Name: "peer", Schema: `{"type":"object"}`, Do: func(ctx context.Context, _ Use) (string, error) {
				calls++
				NotePeer(ctx, record.Peer{Task: "t", Spent: &record.Spent{Calls: int64(calls), Input: 100 * int64(calls), Cost: float64(calls) / 4, Currency: "EUR"}})
				return "done", nil
			}}},
		}
	}
	whole := run1(t, x(), dir)
	u := whole.Usage
	u.Time = 0
	if u.Calls != 4+2 || u.Input < 200 || u.Cost != 5e8 || !u.Unpriced || whole.Metrics.InputTokens != u.Input { // the scripted model has no price
		t.Errorf("%+v", whole.Usage)
	}
	again := run1(t, x(), dir)
	p, err := Replay(t.Context(), x(), in(dir).Record, Options{})
	if err != nil || p.Difference != nil {
		t.Fatalf("%+v, %v", p.Difference, err)
	}
	if again.Usage != whole.Usage || p.Usage != whole.Usage || calls != 2 {
		t.Errorf("resumed %+v, replayed %+v, want %+v", again.Usage, p.Usage, whole.Usage)
	}
}

// TestPricesInAgentFile: the prices of a file are those of its models; a model without one, a
// cost without prices and a strange currency are faults. Other prices are other settings.
func TestPricesInAgentFile(t *testing.T) {
	const file = "v: 1\nname: a\ngoal: g\nmodel: {provider: scripted, name: m, script: s.yaml}\n"
	dir := write(t, map[string]string{
		"s.yaml": "- text: t\n", "p.yaml": "scripted: {input: 0.25, output: 2}\nm: {input: 0.25, output: 2}\n", "none.yaml": "other: {input: 1, output: 1}\n", "bad.yaml": "m: 3\n",
		"good.yaml": file + "prices: p.yaml\ncurrency: EUR\nlimits: {cost: 0.5}\n",
		"1.yaml":    file + "prices: none.yaml\n", "2.yaml": file + "limits: {cost: 1}\nagents: [{name: b, limits: {cost: 1}}]\n", "3.yaml": file + "prices: p.yaml\ncurrency: <b>\n",
		"4.yaml": file + "currency: EUR\n", "5.yaml": file + "prices: lost.yaml\n", "6.yaml": file + "prices: bad.yaml\n", "7.yaml": file + "prices: p.yaml\nlimits: {cost: -1}\n",
	})
	x := experimentOf(t, dir+"/good.yaml", Dependencies{})
	if cost, known := x.Price(x.Model.Name(), 2, 3); cost != 2*250+3*2000 || !known || x.Currency != "EUR" || x.Limits.Cost != 0.5 {
		t.Errorf("%d %v, %+v", cost, known, x)
	}
	if _, known := x.Price("another", 1, 1); known {
		t.Error("an unknown model has a price")
	}
	if text, _ := json.Marshal(x.Settings["prices"]); !strings.Contains(string(text), "0.25") {
		t.Errorf("the settings have no prices: %s", text)
	}
	for name, want := range map[string][]string{
		"1": {"prices: model"}, "2": {"limits.cost: needs prices", "agents[0].limits.cost: needs prices"}, "3": {`currency: "<b>"`},
		"4": {"currency: needs prices"}, "5": {"prices: ", "lost.yaml"}, "6": {"prices: ", "bad.yaml:1:4"}, "7": {"limits.cost: is negative"},
	} {
		c, err := ReadConfig(dir + "/" + name + ".yaml")
		if err == nil {
			_, err = c.Experiment(Dependencies{})
		}
		if slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(fmt.Sprint(err), w) }) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestConversationHasLimits: the limits of a run hold for an answer, too.
func TestConversationHasLimits(t *testing.T) {
	call := model.Reply{Calls: []model.Call{{ID: "1", Name: "wait", Arguments: "{}"}}, Usage: model.Usage{Input: 50, Output: 50}, End: sotto.EndStopped}
	for limits, want := range map[Limits]Bound{{Tokens: 150}: BoundTokens, {Time: time.Nanosecond}: BoundTime, {}: ""} {
		turn := Turn{Model: &parrot{replies: []model.Reply{call, call}}, Limits: limits, Tools: []Tool{&Func{Name: "wait", Schema: `{"type":"object"}`, Do: func(context.Context, Use) (string, error) { return "", nil }}}}
		o, err := turn.Converse(t.Context(), ask("Go."))
		if err != nil || o.Bound != want {
			t.Errorf("%+v: %s by %q, %v", limits, o.Status, o.Bound, err)
		}
	}
}
