package console_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/internal/recorded/recordship"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/record"
)

// bucketed writes a record of some segments, which has all that a page shows.
func bucketed(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	w, err := record.Open(dir, record.Options{Policy: record.None, SegmentSize: 300_000})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 9))
	for i := range 350 {
		text := fmt.Sprintf("<think>thought %d</think>", i)
		for range 300 {
			text += fmt.Sprintf(" word%d", r.IntN(2000))
		}
		x := consoletest.Exchange(fmt.Sprint("m", i%3), fmt.Sprint("question ", i), text+fmt.Sprint(" answer ", i*i))
		x.Caller, x.ResponseID, x.Millis, x.Outcome = fmt.Sprint("team-", i%7), fmt.Sprint("id-", i), r.Int64N(5000), "answered"
		if i%40 == 3 {
			x.Outcome, x.Error = "failed", "Connection REFUSED"
		}
		if i == 200 {
			x.Replies[0].Raw = record.Say("<think>needle</think>" + strings.Repeat("a long answer ", 100_000))
		}
		consoletest.Put(t, w, x)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	consoletest.RunCycles(t, dir, "run-one", 3)
	if _, err := sidecar.Make(t.Context(), dir, sidecar.Options{}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func shipTo(t *testing.T, dir, at string) {
	t.Helper()
	place, err := objects.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	to, err := recordship.Open(t.Context(), dir, place, recordship.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(to.Step(t.Context()), to.Close()); err != nil {
		t.Fatal(err)
	}
}

// pagesOf are the pages that read a record.
var pagesOf = []string{
	"exchanges", "exchanges?before=180", "exchanges?after=90", "exchanges?model=m1", "exchanges?outcome=failed", "exchanges?caller=team-3&before=300", "exchanges?text=needle", "exchanges?text=WORD77",
	"exchanges?id=id-77", "exchanges?sort=took", "exchanges?sort=answer&least=1&model=m2", "exchanges?sort=size", "exchanges?sum=1", "exchanges/7", "exchanges/201", "exchanges/300?model=m2", "exchanges/9999",
	"events/355", "search?q=needle", "search?q=refused", "search?q=answer+44100", "search?q=word12&in=answer", "explore?of=failed", "explore?of=took&by=caller", "explore?of=thought", "runs", "runs/run-one",
	"evaluation", "memory", "health/views",
}

// TestLawBucket: each page of a record in object storage is that of its folder, without a copy of
// it. A page says that the store is down.
func TestLawBucket(t *testing.T) {
	s := objectstest.Start(t, "records")
	s.Setenv()
	cache := t.TempDir()
	t.Setenv("SOTTO_CACHE_DIR", cache)
	dir := bucketed(t)
	const at = "s3://records/prod"
	shipTo(t, dir, at)
	store, done, err := recordset.Follow(t.Context(), at, record.ReadOptions{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	here := serve(t, console.Config{Record: consoletest.Store(t, dir), Dir: dir, Name: "audit"}, "/")
	there := serve(t, console.Config{Record: store, Dir: store.Reader().Dir(), Name: "audit"}, "/")
	for _, page := range pagesOf {
		address := page + "?format=json"
		if strings.Contains(page, "?") {
			address = page + "&format=json"
		}
		want, wanted := get(t, here+address)
		got, text := get(t, there+address)
		if got.StatusCode != want.StatusCode || alike(t, page, text) != alike(t, page, wanted) {
			t.Errorf("%s: %s %.3000s\nwant %s %.3000s", page, got.Status, alike(t, page, text), want.Status, alike(t, page, wanted))
		}
	}
	segments, _ := store.Size()
	if list, _ := filepath.Glob(filepath.Join(store.Reader().Dir(), "*.jsonl")); segments < 5 || len(list) >= segments { // the one that grows, and those of which a list needs much
		t.Errorf("%d of %d segments were copied", len(list), segments)
	}
	if _, page := get(t, there+"health"); !strings.Contains(page, "sotto record verify copies all of it") || strings.Contains(page, `action="health/verify"`) {
		t.Errorf("the health offers to verify: %s", page)
	}
	other, end, err := recordset.Follow(t.Context(), at, record.ReadOptions{}, slog.New(slog.DiscardHandler)) // another program, which has read nothing yet
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	there = serve(t, console.Config{Record: other, Dir: other.Reader().Dir(), Name: "audit"}, "/")
	s.Kill()
	resp, page := get(t, there+"exchanges?sort=took")
	if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(page, "object storage that has this record cannot be read") || !strings.Contains(page, at) {
		t.Errorf("without the store: %s %s", resp.Status, page)
	}
	s.Start()
	waiting.Until(t, "the store to work again", func() bool {
		resp, _ := get(t, there+"exchanges?sort=took")
		return resp.StatusCode == http.StatusOK
	})
}

// alike is the JSON of a page without how much was read for it.
func alike(t *testing.T, page, text string) string {
	t.Helper()
	reads := []string{"searched", "total", "unindexed"}
	if strings.HasPrefix(page, "search") {
		reads = append(reads, "events")
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
	var strip func(v any)
	strip = func(v any) {
		switch x := v.(type) {
		case map[string]any:
			for _, name := range reads {
				delete(x, name)
			}
			for _, v := range x {
				strip(v)
			}
		case []any:
			for _, v := range x {
				strip(v)
			}
		}
	}
	strip(v)
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
