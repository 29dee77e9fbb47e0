package solvecmd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/lab/solve"
	"github.com/sotto-llm/sotto/internal/lab/solvereport"
)

// A digest names a list of problems or of replies by what it holds.
type digest struct{ hash.Hash }

func newDigest() digest { return digest{sha256.New()} }

func (d digest) String() string { return hex.EncodeToString(d.Sum(nil)) }

// hash hashes a problem, and the reply to it if there is one.
func (d digest) hash(p solve.Problem, raw string, end sotto.Ending) error {
	return json.NewEncoder(d).Encode([]any{p.ID, p.Input, p.Gold, p.Options, string(p.Schema), p.Lang, raw, end.String()})
}

func digestOf(data []byte) string {
	d := newDigest()
	d.Write(data)
	return d.String()
}

// manifest describes a new run: all that decides its results, where the model is,
// and the bounds.
func (x *streamCommand) manifest(o *solve.Options, problems []solve.Problem) (solvereport.Head, error) {
	now := time.Now().UTC()
	h := solvereport.Head{
		V: 1, Type: "run", Run: "solve-" + now.Format("20060102T150405.000000"), Time: now.Truncate(time.Microsecond),
		Task: o.Task.Name(), Mode: o.Mode, Model: o.Model.Name(),
		Place:  &solvereport.Place{Provider: x.Provider, URL: withoutUser(x.URL)},
		With:   x.carried(),
		Bounds: &solvereport.Bounds{Limit: x.Limit, Tokens: x.BudgetTokens, Cost: x.BudgetCost, Time: spelled(x.BudgetTime)},
	}
	if _, asks := o.Model.(solve.Replier); asks || x.Script != "" {
		h.Place = nil
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		h.Sotto = info.Main.Version
	}
	var err error
	h.Settings, err = x.settings(o, problems)
	return h, err
}

func (x *streamCommand) settings(o *solve.Options, problems []solve.Problem) (*solvereport.Settings, error) {
	asked := newDigest()
	for _, p := range problems {
		if err := asked.hash(p, "", sotto.EndUnknown); err != nil {
			return nil, err
		}
	}
	row, err := json.Marshal(o.Grammar.Dialect())
	if err != nil {
		return nil, fmt.Errorf("dialect: %w", err)
	}
	temperatures, err := json.Marshal(o.Temperatures)
	if err != nil {
		return nil, err
	}
	s := &solvereport.Settings{
		Problems: asked.String(), Count: len(problems), Shuffle: x.Shuffle, Where: x.Where, Replies: x.replies, Audit: x.Audit,
		Rules:   answer.Extract(o.Task, "", answer.Problem{}, answer.Options{Grammar: o.Grammar}).Rules,
		Dialect: o.Grammar.Dialect().Name, DialectRow: digestOf(row), Start: string(o.Start),
		Instruction: digestOf([]byte(o.Instruction)), Temperatures: strings.Trim(string(temperatures), "[]"),
		MaxTokens: o.MaxTokens, Seed: o.Seed, Think: o.Think, Timeout: spelled(o.Timeout), Embed: x.Embed,
	}
	if o.Memory != nil {
		s.Memory, s.Floor, s.Paths, s.PathTokens, s.Verify = o.Memory.ID(), o.Floor, o.Paths, o.PathTokens, o.Verify
	}
	for _, f := range []struct {
		name string
		into *string
	}{{x.TaskFile, &s.TaskFile}, {x.Script, &s.Script}, {x.Prices, &s.Prices}} {
		if f.name == "" {
			continue
		}
		if *f.into, err = digestOfFile(f.name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func digestOfFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	d := newDigest()
	if _, err := io.Copy(d, f); err != nil {
		return "", fmt.Errorf("read %s: %w", name, files.Cause(err))
	}
	return d.String(), nil
}

func spelled(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// withoutUser removes credentials from an address.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
