package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// A list by facts is the same with sidecars and without; it has what a reading of the record
// selects, in the order that was asked for, and the totals of all of it.
func TestListByFacts(t *testing.T) {
	dir, r := t.TempDir(), rand.New(rand.NewPCG(5, 4))
	w, err := record.Open(dir, record.Options{Policy: record.None, SegmentSize: 20_000})
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint64]record.Exchange{}
	for n := range 300 {
		x := record.Exchange{
			Model: fmt.Sprint("model-", r.IntN(3)), Caller: []string{"", "alice", "bob"}[r.IntN(3)], Outcome: []string{"answered", "failed"}[r.IntN(2)], Millis: r.Int64N(50),
			Usage: &record.Usage{Output: r.Int64N(1000)}, IDs: map[string]string{"session_id": fmt.Sprint("s-", r.IntN(4))},
		}
		if n%7 == 0 {
			x.Replies = []record.Reply{{Raw: record.Say("x"), ToolCalls: []record.Call{{Name: "search"}, {Name: "get"}}}}
		}
		got, err := w.Append(context.Background(), record.Event{Payload: x})
		if err != nil {
			t.Fatal(err)
		}
		all[got.Seq] = x
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	conditions := map[string]func(x *record.Exchange) bool{
		"outcome=failed": func(x *record.Exchange) bool { return x.Outcome == "failed" }, "outcome!=failed": func(x *record.Exchange) bool { return x.Outcome != "failed" },
		"ms>10": func(x *record.Exchange) bool { return x.Millis > 10 }, "ms <= 10": func(x *record.Exchange) bool { return x.Millis <= 10 }, "ms>=20": func(x *record.Exchange) bool { return x.Millis >= 20 },
		"output<500": func(x *record.Exchange) bool { return x.Usage.Output < 500 }, "caller=": func(x *record.Exchange) bool { return x.Caller == "" }, "caller>alice": func(x *record.Exchange) bool { return x.Caller > "alice" },
		"session=s-2": func(x *record.Exchange) bool { return x.IDs["session_id"] == "s-2" }, "tools=get": func(x *record.Exchange) bool { return len(x.Replies) > 0 }, "tools!=search": func(x *record.Exchange) bool { return len(x.Replies) == 0 },
	}
	var names []string
	for name := range conditions {
		names = append(names, name)
	}
	slices.Sort(names)
	type question struct {
		args []string
		out  string
	}
	var asked []question
	for range 40 {
		q := question{args: []string{"record", "ls", dir, "--type", "exchange", "--json"}}
		var keep []string
		for range r.IntN(3) {
			keep = append(keep, names[r.IntN(len(names))])
			q.args = append(q.args, "--where", keep[len(keep)-1])
		}
		falling, sorted, limit := r.IntN(2) == 0, r.IntN(2) == 0 || len(keep) == 0, 0
		switch {
		case sorted && falling:
			q.args = append(q.args, "--sort=-output")
		case sorted:
			q.args = append(q.args, "--sort=output")
		}
		if r.IntN(2) == 0 {
			limit = 1 + r.IntN(20)
			q.args = append(q.args, "--limit", strconv.Itoa(limit))
		}
		var want []uint64
		for seq := range all {
			x := all[seq]
			if !slices.ContainsFunc(keep, func(name string) bool { return !conditions[name](&x) }) {
				want = append(want, seq)
			}
		}
		slices.SortFunc(want, func(a, b uint64) int {
			if x, y := all[a].Usage.Output, all[b].Usage.Output; sorted && x != y {
				if (x < y) != falling {
					return -1
				}
				return 1
			}
			return int(a) - int(b)
		})
		events := len(want)
		if limit > 0 {
			want = want[:min(len(want), limit)]
		}
		out, stderr, status := shipping(t, "", q.args...)
		if status != 0 {
			t.Fatal(stderr)
		}
		var got []uint64
		total := -1
		for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
			var line struct {
				Seq   uint64
				Total *struct{ Events int }
			}
			if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			if line.Total != nil {
				total = line.Total.Events
				continue
			}
			got = append(got, line.Seq)
		}
		if !slices.Equal(got, want) || total != events {
			t.Fatalf("%q lists %v of %d, want %v of %d", q.args, got, total, want, events)
		}
		q.out = out
		asked = append(asked, q)
	}
	if m, err := sidecar.Make(t.Context(), dir, sidecar.Options{Small: true}); err != nil || m.Made < 3 {
		t.Fatal(m, err)
	}
	for _, q := range asked {
		out, stderr, status := shipping(t, "", append(q.args, "--looked")...)
		if status != 0 || out != q.out || !strings.Contains(stderr, "0 of ") || strings.Contains(stderr, "without a sidecar") {
			t.Errorf("%q with sidecars: %s, want %s; %s", q.args, out, q.out, stderr)
		}
	}
}
