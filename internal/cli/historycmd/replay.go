// Package historycmd has the command that replays recorded conversations under
// several history policies.
package historycmd

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/data/batch"
	"github.com/sotto-llm/sotto/internal/lab/historyreplay"
	"github.com/sotto-llm/sotto/internal/recorded/recording"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/model"
	"github.com/sotto-llm/sotto/record"
)

// Command replays recorded conversations.
type Command struct {
	Dirs     []string `arg:"" name:"dir" help:"The folders of records, or of several records each."`
	Identity []string `short:"i" sep:"none" placeholder:"FILE" setting:"SOTTO_RECORD_IDENTITY" help:"Decrypt with the age identities in FILE; repeatable."`

	Policy   []string `default:"strip,preserve,auto" placeholder:"P,Q" help:"The history policies: auto, preserve, strip, strip-all, restore, and drop, which sends no earlier reasoning even if the provider requires it. The others are compared with the first (${default})."`
	Upstream string   `placeholder:"URL" setting:"SOTTO_UPSTREAM" help:"The model server to ask. It is asked directly, so it must not be a gateway that edits histories."`
	KeyFile  string   `name:"upstream-key-file" placeholder:"FILE" setting:"SOTTO_UPSTREAM_KEY_FILE" help:"The file with its API key. $$SOTTO_UPSTREAM_KEY holds the key itself."`
	Provider string   `placeholder:"API" enum:",ollama,openai,anthropic" default:"" help:"The API to ask by: ollama, openai, anthropic. Without it, that of each recorded request."`
	As       string   `placeholder:"NAME" help:"The model to ask. Without it, that of each recorded request."`
	Rounds   int      `default:"1" placeholder:"N" help:"How often each request is sent. With 2 or more, the report says how much replies differ by chance alone (${default})."`
	Salt     string   `placeholder:"MEMBER" help:"Add this member to each request, with a value for each policy, to keep the prompt caches of the policies apart: prompt_cache_key (OpenAI), cache_salt (vLLM)."`
	Workers  int      `default:"1" placeholder:"N" help:"How many conversations are replayed at a time (${default})."`
	DryRun   bool     `name:"dry-run" help:"Send nothing: say how many requests there would be, and how large."`
	Output   string   `short:"o" placeholder:"FILE" help:"Write a row for each reply to FILE (JSON Lines). A run with the same FILE goes on where the last one ended."`
	JSON     bool     `name:"json" help:"Print the report as JSON."`

	Model string `short:"m" placeholder:"NAME" help:"Only recorded requests to this model."`
	ID    string `name:"id" placeholder:"ID" help:"Only the conversation with this identifier."`
	From  string `placeholder:"TIME" help:"Only requests at TIME or later: 2026-11-21, 2026-11-21T10:00:00Z, or 2h (ago)."`
	To    string `placeholder:"TIME" help:"Only requests before TIME."`
	Limit int    `short:"n" default:"1000" placeholder:"N" help:"The maximum number of recorded requests that are sent again (${default})."`
}

// Help explains what is compared.
func (Command) Help() string {
	return `Takes the requests that a gateway recorded, puts back all that is known of the model's earlier reasoning, and sends each request once for each history policy. The report compares refusals, tokens, cached tokens, times and answers, conversation by conversation, with intervals. Requests that are the same under two policies are sent once. Nothing is run: tool calls are compared, not made.

Requests without earlier reasoning are left out, because the policies would send the same. If the server charges for tokens, it charges for these: see --dry-run and --limit. docs/replay-history.md explains the figures.

Examples:

    sotto replay-history audit --dry-run
    sotto replay-history audit --upstream http://localhost:8000 --rounds 2 -o replies.jsonl
    sotto replay-history audit --policy auto,strip --upstream https://api.openai.com --salt prompt_cache_key`
}

// Validate refuses flags that cannot be combined.
func (x *Command) Validate() error {
	for i, p := range x.Policy {
		if !slices.Contains(historyreplay.Policies(), history.Policy(p)) {
			return fmt.Errorf("--policy %s: want auto, preserve, strip, strip-all, restore or drop", p)
		}
		if slices.Contains(x.Policy[:i], p) {
			return fmt.Errorf("--policy: %s is there twice", p)
		}
	}
	switch {
	case len(x.Policy) < 2:
		return errors.New("--policy: want two policies or more")
	case x.Rounds < 1 || x.Rounds > 100:
		return fmt.Errorf("--rounds %d: want 1 to 100", x.Rounds)
	case x.Workers < 1 || x.Workers > 256:
		return fmt.Errorf("--workers %d: want 1 to 256", x.Workers)
	case x.Limit < 1:
		return fmt.Errorf("--limit %d: want 1 or more", x.Limit)
	case x.Upstream == "" && !x.DryRun:
		return errors.New("want --upstream URL, or --dry-run")
	}
	return nil
}

// policies returns the policies in their order.
func (x *Command) policies() []history.Policy {
	var list []history.Policy
	for _, p := range x.Policy {
		list = append(list, history.Policy(p))
	}
	return list
}

// Run replays the conversations and prints the report.
func (x *Command) Run(sh *shell.Shell) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	key, err := sh.Secret("SOTTO_UPSTREAM_KEY", "--upstream-key-file", x.KeyFile)
	if err != nil {
		return err
	}
	if u, err := url.Parse(x.Upstream); err != nil || x.Upstream != "" && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return errorhint.Usage(errors.New("--upstream: want a URL such as http://localhost:8000"), "")
	}
	r := &replay{
		Command: x, sh: sh, tally: historyreplay.NewTally(x.policies()),
		runner:    historyreplay.Runner{Policies: x.policies(), Rounds: x.Rounds, URL: x.Upstream, Key: model.Secret(key), Salt: x.Salt},
		collector: historyreplay.Collector{Provider: x.Provider, Model: x.As},
	}
	defer r.rows.close()
	if err := r.openRows(); err != nil {
		return err
	}
	err = r.run(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil && x.Output != "" {
		err = errorhint.Add(err, "the replies so far are in the output: the same command goes on from there")
	}
	if r.sent == 0 && err != nil && r.rows.known == nil {
		return err
	}
	if printed := r.print(); printed != nil {
		return errors.Join(err, printed)
	}
	if err == nil && r.bad > 0 {
		sh.Hintf("run sotto record verify to check whether the record was changed")
		err = batch.ErrFailed
	}
	return err
}

// A replay is a run of the command.
type replay struct {
	*Command
	sh        *shell.Shell
	runner    historyreplay.Runner
	collector historyreplay.Collector
	rows      rows

	mu    sync.Mutex
	tally *historyreplay.Tally
	sent  int // rows of this run
	plans planned
	bad   int // lines of the record that cannot be read
}

// run reads the record and replays its requests. Those of one conversation are sent
// one after the other, in their order, as its client did.
func (r *replay) run(ctx context.Context) error {
	set, q, err := r.open()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	queues := make([]chan *historyreplay.Case, r.Workers)
	for i := range queues {
		queues[i] = make(chan *historyreplay.Case, 1)
		workers.Go(func() {
			for c := range queues[i] {
				if ctx.Err() != nil {
					continue
				}
				if err := r.one(ctx, c); err != nil {
					cancel(err)
				}
			}
		})
	}
	err = r.feed(ctx, set, q, queues)
	for _, queue := range queues {
		close(queue)
	}
	workers.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// open opens the records.
func (r *replay) open() (*recordset.Set, record.Query, error) {
	q := record.Query{Model: r.Model, Types: []record.Type{record.TypeExchange}}
	var err error
	if q.From, err = recording.ParseTime(r.From); err != nil {
		return nil, q, errorhint.Usage(fmt.Errorf("--from: %w", err), "")
	}
	if q.To, err = recording.ParseTime(r.To); err != nil {
		return nil, q, errorhint.Usage(fmt.Errorf("--to: %w", err), "")
	}
	ids, err := recording.ReadIdentities(r.Identity)
	if err != nil {
		return nil, q, fmt.Errorf("--identity: %w", err)
	}
	set, err := recordset.OpenAll(r.Dirs, record.ReadOptions{Identities: ids})
	if errors.Is(err, record.ErrSealed) {
		err = errorhint.Add(err, "give an identity with --identity FILE")
	}
	return set, q, err
}

// feed gives the cases of the record to the workers, each conversation to one.
func (r *replay) feed(ctx context.Context, set *recordset.Set, q record.Query, queues []chan *historyreplay.Case) error {
	seed := maphash.MakeSeed()
	for e, err := range set.Events(q) {
		var line *record.LineError
		if errors.As(err, &line) && !errors.Is(err, record.ErrSealed) {
			r.bad++
			r.sh.Errorf("%v", err)
			continue
		}
		if err != nil {
			return err
		}
		exchange, ok := e.Payload.(record.Exchange)
		if !ok {
			continue
		}
		name := strconv.FormatUint(e.Seq, 10)
		if set.Several() {
			name = e.Source.Name + ":" + name
		}
		c, ok := r.collector.Case(name, &exchange)
		if !ok || r.ID != "" && !slices.Contains(ids(&exchange), r.ID) {
			continue
		}
		if r.plans.cases++; r.plans.cases > r.Limit {
			r.plans.cases, r.plans.more = r.Limit, true
			return nil
		}
		select {
		case queues[maphash.String(seed, c.Conversation)%uint64(len(queues))] <- &c:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// ids are the identifiers of an exchange.
func ids(x *record.Exchange) []string {
	list := []string{x.ResponseID}
	for _, id := range x.IDs {
		list = append(list, id)
	}
	return list
}

// one replays a case, or plans it.
func (r *replay) one(ctx context.Context, c *historyreplay.Case) error {
	if !r.DryRun {
		return r.runner.Do(ctx, c, len(c.Request.Messages))
	}
	rows, err := r.runner.Plan(ctx, c)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.plans.count(rows, r.Rounds)
	return nil
}

// keep counts a row and writes it.
func (r *replay) keep(row *historyreplay.Row) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent++
	r.tally.Add(row)
	return r.rows.write(row)
}

// planned is what a dry run would send.
type planned struct {
	cases    int
	more     bool // there are more than the limit
	requests int
	policies map[history.Policy]*plannedPolicy
}

type plannedPolicy struct {
	bytes, same int
	as          []history.Policy
}

func (p *planned) count(rows []historyreplay.Row, rounds int) {
	if p.policies == nil {
		p.policies = map[history.Policy]*plannedPolicy{}
	}
	for _, row := range rows {
		one := p.policies[row.Policy]
		if one == nil {
			one = &plannedPolicy{}
			p.policies[row.Policy] = one
		}
		one.bytes += row.Bytes
		if row.As != "" {
			one.same++
			if !slices.Contains(one.as, row.As) {
				one.as = append(one.as, row.As)
			}
		} else {
			p.requests += rounds
		}
	}
}

func names(list []history.Policy) string {
	var words []string
	for _, p := range list {
		words = append(words, string(p))
	}
	return strings.Join(words, ", ")
}
