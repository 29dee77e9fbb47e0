package history

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

var update = flag.Bool("update", false, "write what is planned now into testdata/plans.jsonl")

// Plans are requests, what is known about their upstreams, what stores remember, and the
// plans that come of it. Each was chosen because a change of the code alters its plan.
// The laws of the package hold for each; see TestLaws. After a change of the rules, run
//
//	go test ./history -run TestPlans -update
//
// and read the lines that changed.
//
//go:embed testdata/plans.jsonl
var plansFile []byte

// A planned is a request and its plan.
type planned struct {
	API      string     `json:"api"`
	Model    string     `json:"model"`
	Policy   Policy     `json:"policy,omitempty"`
	Native   string     `json:"native,omitempty"`
	Fields   []string   `json:"fields,omitempty"`
	Tags     bool       `json:"tags,omitempty"`
	Protocol bool       `json:"protocol,omitempty"`
	Messages []spoken   `json:"messages"`
	Memory   []memory   `json:"memory,omitempty"`
	Replies  []answered `json:"replies,omitempty"` // what a store remembers
	Shared   bool       `json:"shared,omitempty"`  // another store, which shares a level with it
	OwnIDs   bool       `json:"own_ids,omitempty"`

	Plan    string   `json:"plan"`
	Changes []string `json:"changes,omitempty"`
	Found   []string `json:"found,omitempty"` // what the store has of the messages
}

// A spoken is a message.
type spoken struct {
	Role     string         `json:"role"`
	Texts    []string       `json:"texts,omitempty"`
	Thoughts []wire.Thought `json:"thoughts,omitempty"`
	Calls    []string       `json:"calls,omitempty"`   // ids
	Results  []string       `json:"results,omitempty"` // ids of their calls
	Called   []string       `json:"called,omitempty"`
	Names    bool           `json:"names,omitempty"`
	Signed   []bool         `json:"signed,omitempty"`
	Empty    []string       `json:"empty,omitempty"`
}

// A memory is what is remembered of a message, whatever it says.
type memory struct {
	At int `json:"at"`
	Remembered
}

// An answered is a reply that a store remembers, to the first messages of the request. If
// the first of these has changed since, Before is what it said.
type answered struct {
	To     int    `json:"to"`
	Before string `json:"before,omitempty"`
	Said
}

// request returns the request, or its first messages.
func (c *planned) request(n int) *wire.Request {
	codec := c.codec()
	q := &wire.Request{Model: c.Model, Items: codec.Capabilities().Items, OwnIDs: c.OwnIDs}
	for _, m := range c.Messages[:min(n, len(c.Messages))] {
		q.Messages = append(q.Messages, wire.Message{
			Role: m.Role, Texts: slices.Clone(m.Texts), Thoughts: m.Thoughts, Calls: len(m.Calls) > 0, Results: m.Role == "tool" || len(m.Results) > 0,
			CallIDs: slices.Concat(m.Calls, m.Results), Called: m.Called, Names: m.Names, Signed: m.Signed, Empty: m.Empty,
		})
	}
	return q
}

func (c *planned) codec() wire.Codec {
	for _, codec := range providers.Codecs() {
		if codec.Name() == c.API {
			return codec
		}
	}
	panic("no API " + c.API)
}

// plan fills in the plan.
func (c *planned) plan() {
	q := c.request(len(c.Messages))
	k := Knowledge{Native: c.Native, Fields: c.Fields, Tags: c.Tags, Protocol: c.Protocol}
	c.Found = nil
	switch {
	case len(c.Memory) > 0:
		k.Recall = func(m int) (Remembered, bool) {
			for _, r := range c.Memory {
				if r.At == m {
					return r.Remembered, true
				}
			}
			return Remembered{}, false
		}
	case len(c.Replies) > 0:
		k.Recall = c.store().For("caller", q)
		for m := range q.Messages {
			if r, ok := k.Recall(m); ok {
				found := fmt.Sprintf("%d: %+v", m, r)
				c.Found = append(c.Found, strings.Replace(found, fmt.Sprintf(" Listed: Calls:[] said:%d}", r.said), "}", 1))
			}
		}
		if _, ok := c.store().Recall("somebody else", q, 0); ok {
			c.Found = append(c.Found, "somebody else gets it")
		}
	}
	p := PlanFor(q, c.Policy, k, c.codec())
	c.Plan, c.Changes = p.String(), nil
	for _, change := range p.Changes {
		c.Changes = append(c.Changes, changeText(change))
	}
}

// store returns a store that was told of the replies.
func (c *planned) store() *Store {
	s := NewStore(100, 1<<20, time.Hour)
	level, secret := newShelf(), []byte("a secret of the replicas, of 32 b")
	if c.Shared {
		if err := s.Share(level, secret); err != nil {
			panic(err)
		}
	}
	for _, a := range c.Replies {
		q := c.request(a.To)
		if len(q.Messages) > 0 && a.Before != "" {
			q.Messages[0].Texts = []string{a.Before}
		}
		s.Remember("caller", q, a.Said)
	}
	if c.Shared {
		s = NewStore(100, 1<<20, time.Hour)
		if err := s.Share(level, secret); err != nil {
			panic(err)
		}
	}
	return s
}

// changeText writes a change in one line.
func changeText(c wire.Change) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:", c.Message)
	if len(c.Drop) > 0 {
		fmt.Fprintf(&b, " drop %v", c.Drop)
	}
	for _, i := range slices.Sorted(maps.Keys(c.Texts)) {
		fmt.Fprintf(&b, " text %d %q", i, c.Texts[i])
	}
	if c.Field != "" {
		fmt.Fprintf(&b, " add %s %q", c.Field, c.Add)
	}
	for _, item := range c.Before {
		fmt.Fprintf(&b, " before %q", item)
	}
	for _, i := range slices.Sorted(maps.Keys(c.Sign)) {
		fmt.Fprintf(&b, " sign %d %q", i, c.Sign[i])
	}
	return b.String()
}

func readPlans(t *testing.T) (list []planned) {
	lines := bufio.NewScanner(bytes.NewReader(plansFile))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c planned
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		list = append(list, c)
	}
	return list
}

func TestPlans(t *testing.T) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, c := range readPlans(t) {
		now := c
		now.plan()
		if err := enc.Encode(now); err != nil {
			t.Fatal(err)
		}
		if *update {
			continue
		}
		if now.Plan != c.Plan || !slices.Equal(now.Changes, c.Changes) || !slices.Equal(now.Found, c.Found) {
			about, _ := json.Marshal(c)
			t.Errorf("%s\n got %s %q, found %q\nwant %s %q, found %q", about, now.Plan, now.Changes, now.Found, c.Plan, c.Changes, c.Found)
		}
	}
	if *update {
		if err := os.WriteFile("testdata/plans.jsonl", out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
