package view_test

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// TestSidecars: with sidecars, lists and searches show the same rows and hits, and read fewer
// events.
func TestSidecars(t *testing.T) {
	w, dir := consoletest.Open(t)
	for i := range 300 {
		x := consoletest.Exchange("m", fmt.Sprint("a question ", i), fmt.Sprintf("<think>thought %d</think>answer %d", i, i*i))
		x.Caller, x.ResponseID = fmt.Sprint("team-", i%7), fmt.Sprint("id-", i)
		if i%50 == 0 {
			x.Outcome, x.Error = "failed", "Connection REFUSED"
		}
		if i == 123 {
			x.Replies[0].ToolCalls = []record.Call{{Name: "Zebra_tool"}}
		}
		consoletest.Put(t, w, x)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	type page struct {
		rows     any
		searched int
	}
	filters := []view.Filter{
		{Text: "zebra"}, {Text: "ANSWER 169"}, {Text: "thought 29"}, {Text: "nothing like it"}, {Text: "question 1", Caller: "team-3"}, {ID: "id-77"}, {Outcome: "failed"}, {Caller: "nobody"}, {Leak: "field"},
	}
	searches := []view.SearchQuery{{Text: "refused"}, {Text: "answer 84", In: view.InAnswer}, {Text: "answer [0-9]{5}$", Regexp: true}, {Text: "zebra"}}
	look := func() (pages []page) {
		s := view.NewSource(consoletest.Store(t, dir), nil)
		s.KeepFor(0)
		for _, f := range filters {
			p, err := s.List(ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, page{p.Rows, p.Searched})
		}
		for _, q := range searches {
			p, err := s.SearchPage(ctx, q, 0)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, page{p.List, p.Events})
		}
		return pages
	}
	before := look()
	if m, err := sidecar.Make(ctx, dir, sidecar.Options{Small: true}); err != nil || m.Made == 0 {
		t.Fatalf("%+v, %v", m, err)
	}
	fewer := 0
	for i, p := range look() {
		if !reflect.DeepEqual(p.rows, before[i].rows) {
			t.Errorf("question %d shows %v, want %v", i, p.rows, before[i].rows)
		}
		if p.searched < before[i].searched {
			fewer++
		}
	}
	if fewer < len(before)/2 {
		t.Errorf("%d of %d questions read fewer events", fewer, len(before))
	}
}
