package view

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/record"
)

// A search finds each text in the kind that it has, page by page: the same hits as
// at once, each once, whatever a page holds.
func TestSearch(t *testing.T) {
	w, dir := consoletest.Open(t)
	for i := range 90 {
		x := consoletest.Exchange("m", fmt.Sprintf("Needle in prompt %d", i), fmt.Sprintf("<think>needle %d</think>\nno %s, the NEEDLE %d", i, strings.Repeat("x", 300), i))
		x.Replies[0].ToolCalls = []record.Call{{Name: "find", Arguments: record.Say(`{"q":"needle"}`)}}
		consoletest.Put(t, w, x)
	}
	long := consoletest.Exchange("long", "p", "<think>"+strings.Repeat("a needle\n", 200_000)+"</think>b")
	consoletest.Put(t, w, long)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := NewSource(consoletest.Store(t, dir), nil)
	for i, kind := range append(Kinds(), "") {
		within := time.Duration(i % 2) // with hardly any time, a page ends after a part of the record
		seen := map[string]int{}
		pages, older, done := 0, uint64(0), int64(0)
		var last *Found
		for {
			f, err := s.SearchPage(context.Background(), SearchQuery{Text: "needle", In: kind, Before: older, Done: done}, within)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.List) > MaxHits+len(Kinds())*hitsOfKind {
				t.Errorf("%d hits on a page", len(f.List))
			}
			for _, h := range f.List {
				if kind != "" && h.Kind != kind || !strings.EqualFold(string(h.Match), "needle") || len(h.Before)+len(h.After) > 2*aroundHit {
					t.Errorf("in %q: %+v", kind, h)
				}
				seen[fmt.Sprint(h.Event, h.Path, h.Start)]++
			}
			last, older, done = f, f.Older, f.Searched
			if pages++; older == 0 || pages > 100 {
				break
			}
		}
		for at, n := range seen {
			if n != 1 {
				t.Errorf("in %q: %s is found %d times", kind, at, n)
			}
		}
		want := map[Kind]int{InThought: 90 + hitsOfKind, InAnswer: 90, InPrompt: 90, InTool: 90, InOther: 0, "": 360 + hitsOfKind}[kind]
		if within > 0 && pages < 2 {
			t.Errorf("in %q: a page with hardly any time reads the whole record", kind)
		}
		if len(seen) != want || last.Searched != last.Total || last.Events == 0 {
			t.Errorf("in %q: %d hits, want %d; searched %d of %d", kind, len(seen), want, last.Searched, last.Total)
		}
	}
	f, _ := s.SearchPage(context.Background(), SearchQuery{Text: "needle", In: InThought}, 0)
	if h := f.List[hitsOfKind-1]; f.List[0].Model != "long" || h.More < 1000 || f.List[0].Choice != 0 || f.List[0].Start != len("<think>a ") {
		t.Errorf("of the long event: %+v", f.List[:hitsOfKind])
	}
	if f, err := s.SearchPage(context.Background(), SearchQuery{Text: `N[E]{2}DLE \d+$`, Regexp: true, In: InAnswer}, 0); err != nil || len(f.List) == 0 {
		t.Errorf("%v, %+v", err, f)
	}
}

func TestParseSearch(t *testing.T) {
	for query, want := range map[string]string{
		"q=a": "", "q=(": "", "q=(&regexp=1": "q: ", "q=a*&regexp=1": "matches everywhere", "q=a&in=thoughts": "want thought", "q=a&before=x": "before", "q=" + strings.Repeat("a", 600): "longer",
	} {
		v, _ := url.ParseQuery(query)
		q, err := ParseSearch(v)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", query, err)
		}
		if err == nil {
			q.Before, q.Done, q.In = 7, 9, InTool
			if again, err := ParseSearch(q.Values()); err != nil || again != q {
				t.Errorf("%s: %+v, then %+v", query, q, again)
			}
		}
	}
}
