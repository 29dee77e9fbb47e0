package view_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/view"
	"github.com/sotto-llm/sotto/record"
)

// Every event of a record has a page, each of its hits leads to its byte, and a tool is found
// by its name.
func TestEveryEvent(t *testing.T) {
	dir := consoletest.Traced(t)
	s := view.NewSource(consoletest.Store(t, dir), nil)
	head, err := s.Head()
	if err != nil {
		t.Fatal(err)
	}
	for seq := uint64(1); seq <= head; seq++ {
		e, err := s.Event(context.Background(), seq)
		if err != nil || e.Event != seq || len(e.Steps) == 0 && e.Type != record.TypeRunStart && e.Type != record.TypeCycleStart {
			t.Errorf("event %d: %+v, %v", seq, e, err)
		}
		if line, err := s.Line(context.Background(), seq); err != nil || len(line) == 0 {
			t.Errorf("the line of event %d: %v", seq, err)
		}
	}
	for query, least := range map[string]int{"timetable": 8, "price": 2, "31 February": 3, "Toronto": 4, "may not go on": 1} {
		found, err := s.SearchPage(context.Background(), view.SearchQuery{Text: query}, 0)
		if err != nil || len(found.List) < least {
			t.Fatalf("%s: %d hits, want %d: %v", query, len(found.List), least, err)
		}
		for _, h := range found.List {
			slice, err := s.Text(context.Background(), h.Event, h.Path, h.Start)
			if err != nil {
				t.Fatalf("%s in %s of event %d: %v", query, h.Path, h.Event, err)
			}
			slice.Mark(h.Start, h.End)
			marked := ""
			for _, r := range slice.Runs {
				if r.Hit {
					marked += string(r.Text)
				}
			}
			if !strings.EqualFold(marked, query) {
				t.Errorf("%s in %s of event %d marks %q", query, h.Path, h.Event, marked)
			}
		}
	}
	tools, err := s.SearchPage(context.Background(), view.SearchQuery{Text: "height_of", In: view.InTool}, 0)
	if err != nil || len(tools.List) != 1 || tools.List[0].Path != "replies.0.tool_calls.0.name" {
		t.Errorf("a tool's name: %+v, %v", tools.List, err)
	}
}

// A mark changes no text: the runs joined are what they were, for each place and length.
func TestMark(t *testing.T) {
	w, dir := consoletest.Open(t)
	seq := consoletest.Put(t, w, consoletest.Exchange("m", "p", "<think>héllo</think>wörld, 世界"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := view.NewSource(consoletest.Store(t, dir), nil)
	joined := func(list []view.Run) (text, hit string) {
		for _, r := range list {
			text += string(r.Text)
			if r.Hit {
				hit += string(r.Text)
			}
			if r.End-r.Start != len(r.Text) {
				t.Fatalf("a run of %d bytes from %d to %d", len(r.Text), r.Start, r.End)
			}
		}
		return text, hit
	}
	whole, err := s.Bytes(context.Background(), seq, 0, 0, view.Reread{})
	if err != nil {
		t.Fatal(err)
	}
	want, _ := joined(whole.Runs)
	for from := range want {
		for to := from; to <= len(want)+2; to++ {
			one := *whole
			one.Mark(from, to)
			got, hit := joined(one.Runs)
			if got != want || !strings.Contains(want, hit) || hit == "" || len(hit) < min(to, len(want))-from-3 {
				t.Fatalf("from %d to %d: %q marks %q", from, to, got, hit)
			}
		}
	}
}

// What is not there says why: it was pruned, or the record never had it.
func TestAbsent(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	w, err := record.Open(dir, record.Options{Policy: record.None, SegmentSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for i := range 4 {
		last = consoletest.Put(t, w, consoletest.Exchange("m", fmt.Sprint(i), "a"))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Prune(dir, record.PruneOptions{Before: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	s := view.NewSource(consoletest.Store(t, dir), nil)
	for seq, want := range map[uint64]error{0: view.ErrElsewhere, last + 1: view.ErrElsewhere, 1 << 60: view.ErrElsewhere} {
		_, err := s.Exchange(context.Background(), seq, view.Reread{})
		if !errors.Is(err, want) || !errors.Is(err, view.ErrNotFound) {
			t.Errorf("event %d: %v", seq, err)
		}
	}
	if _, err := s.Exchange(context.Background(), 1, view.Reread{}); err != nil && !errors.Is(err, view.ErrPruned) {
		t.Errorf("a pruned event: %v", err)
	} else if err == nil {
		t.Error("event 1 was not pruned")
	}
	if _, err := s.Find(context.Background(), "nothing"); !errors.Is(err, view.ErrElsewhere) || !strings.Contains(err.Error(), `"nothing"`) {
		t.Error(err)
	}
}

// A reply of calls only is nothing to mark in red; one without anything is.
func TestNotable(t *testing.T) {
	silent := string(sotto.CodeNoVisibleAnswer)
	row := view.Row{Diagnostics: []string{silent, "orphan_close"}}
	if got := strings.Join(row.Notable(), " "); got != silent+" orphan_close" {
		t.Error(got)
	}
	row.Calls = []string{"f"}
	if got := strings.Join(row.Notable(), " "); got != "orphan_close" {
		t.Error(got)
	}
	reply := view.Reply{Diagnostics: []sotto.Diagnostic{{Code: sotto.CodeNoVisibleAnswer}}, ToolCalls: []view.Call{{Name: "f"}}}
	if got := reply.Notable(); len(got) != 0 || len(reply.Diagnostics) != 1 {
		t.Error(got)
	}
}
