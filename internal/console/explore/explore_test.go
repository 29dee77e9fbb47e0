package explore_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"github.com/sotto-llm/sotto/internal/console/consoletest"
	"github.com/sotto-llm/sotto/internal/console/explore"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

func ask(t *testing.T, dir, query string) *explore.Answer {
	t.Helper()
	v, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	q, err := explore.Parse(v)
	if err != nil {
		t.Fatal(err)
	}
	a, err := explore.Ask(context.Background(), consoletest.Store(t, dir), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// counts are the shares of a record, counted from its events one by one.
func counts(t *testing.T, dir string, of func(*record.Event) (name string, count, n int)) map[string][2]int {
	t.Helper()
	all := map[string][2]int{}
	for e, err := range consoletest.Store(t, dir).Reader().Events(record.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if name, count, n := of(&e); n > 0 {
			all[name] = [2]int{all[name][0] + count, all[name][1] + n}
		}
	}
	return all
}

var from, to = time.Date(2026, 11, 10, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)

// TestShares: the shares are those that are counted event by event, with sidecars and
// without; the parts of the time sum up to the whole.
func TestShares(t *testing.T) {
	dir := consoletest.Explored(t, 3000)
	consoletest.Spread(t, dir, from, to)
	leaks := counts(t, dir, func(e *record.Event) (string, int, int) {
		x, ok := e.Payload.(record.Exchange)
		if !ok || len(x.Replies) == 0 {
			return "", 0, 0
		}
		n := 0
		if strings.Contains(string(x.Replies[0].Raw.Text), "<think>") {
			n = 1
		}
		return x.Model, n, 1
	})
	failures := counts(t, dir, func(e *record.Event) (string, int, int) {
		x, ok := e.Payload.(record.ToolCall)
		if !ok {
			return "", 0, 0
		}
		n := 0
		if x.Error != "" {
			n = 1
		}
		return x.Name, n, 1
	})
	for _, indexed := range []bool{false, true} {
		if indexed {
			if _, err := sidecar.Make(t.Context(), dir, sidecar.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		for query, want := range map[string]map[string][2]int{"of=leaks": leaks, "of=reached": leaks, "of=tools&by=tool": failures} {
			a := ask(t, dir, query)
			if indexed != (a.Unindexed == 0) {
				t.Errorf("%s: %d segments without sidecars", query, a.Unindexed)
			}
			for _, s := range a.Series {
				count, n := 0, 0
				for _, p := range s.Points {
					count, n = count+p.Count, n+p.N
				}
				if got := [2]int{s.Total.Count, s.Total.N}; got != want[s.Name] || count != got[0] || n != got[1] {
					t.Errorf("%s: %s has %v, its parts %d of %d; want %v", query, s.Name, got, count, n, want[s.Name])
				}
			}
			if len(a.Series) != len(want) {
				t.Errorf("%s: %d series, want %d", query, len(a.Series), len(want))
			}
		}
	}
}

// TestSince finds since when what was planted holds, and nothing where nothing was.
func TestSince(t *testing.T) {
	dir := consoletest.Explored(t, 6000)
	consoletest.Spread(t, dir, from, to)
	since := from.Add(time.Duration(consoletest.Since * float64(to.Sub(from))))
	for query, changed := range map[string]string{"": consoletest.Leaky, "of=tools&by=tool": consoletest.Broken, "of=took": "deepseek-r1:14b"} {
		a := ask(t, dir, query)
		for i := range a.Series {
			s := &a.Series[i]
			switch before := s.Before(); {
			case (before != nil) != (s.Name == changed):
				t.Errorf("%s: %s has %d stretches", query, s.Name, len(s.Stretches))
			case before != nil && s.Now().From.Sub(since).Abs() > 2*a.Width:
				t.Errorf("%s: %s changed at %v, want %v", query, s.Name, s.Now().From, since)
			case before != nil && (s.Now().Low <= before.High || i != 0):
				t.Errorf("%s: %s is number %d, %+v and %+v before", query, s.Name, i, s.Now(), before)
			}
		}
	}
	// A shorter time has finer parts, and says the same more exactly.
	a := ask(t, dir, "model="+url.QueryEscape(consoletest.Leaky)+"&from=2026-11-15T12:00:00Z&to=2026-11-16T12:00:00Z")
	if len(a.Series) != 1 || a.Width >= 6*time.Hour || a.From.Before(since.Add(-13*time.Hour)) {
		t.Errorf("%d series, from %v by %v", len(a.Series), a.From, a.Width)
	}
}

// TestMedian: the median is that of the values, to within 1 %, and its interval holds it.
func TestMedian(t *testing.T) {
	w, dir := consoletest.Open(t)
	r := rand.New(rand.NewPCG(3, 4))
	var all []int64
	for range 501 {
		x := consoletest.Exchange("m", "p", "a")
		x.Millis = int64(math.Exp(r.Float64() * 12))
		all = append(all, x.Millis)
		consoletest.Put(t, w, x)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	v := ask(t, dir, "of=took").Series[0].Total
	near := func(got float64, want int64) bool { return math.Abs(got-float64(want)) <= 0.01*float64(want) }
	if !near(v.Value, all[250]) || v.N != 501 {
		t.Errorf("the median of %d is %v, want %d", v.N, v.Value, all[250])
	}
	if !near(v.Low, all[228]) && !near(v.Low, all[229]) || !near(v.High, all[272]) && !near(v.High, all[271]) {
		t.Errorf("the interval is %v to %v, want %d to %d", v.Low, v.High, all[228], all[272])
	}
}

// TestFurtherNames: of very many names, those without a series are counted together,
// and at the end.
func TestFurtherNames(t *testing.T) {
	w, dir := consoletest.Open(t)
	for i := range 260 {
		x := consoletest.Exchange("m"+strings.Repeat("x", i), "p", "<think>t</think>a")
		consoletest.Put(t, w, x)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a := ask(t, dir, "")
	last := a.Series[len(a.Series)-1]
	if !a.Merged || len(a.Series) != 201 || !last.Others || last.Total.N != 60 || a.Events != 260 {
		t.Errorf("%d series of %d events, the last %+v", len(a.Series), a.Events, last.Total)
	}
	for _, s := range a.Series {
		if len(s.Name) > 200 {
			t.Errorf("a name of %d bytes", len(s.Name))
		}
	}
}

// TestHostileTimes: whatever times a record has, they are divided into a bounded number of
// parts, and no event is lost.
func TestHostileTimes(t *testing.T) {
	for _, times := range [][2]string{{"0001-01-01T00:00:00Z", "9999-12-31T00:00:00Z"}, {"2026-11-10T00:00:00Z", "0001-01-01T00:00:00Z"}, {"1900-01-01T00:00:00Z", "2100-01-01T00:00:00Z"}, {"2026-11-10T00:00:00Z", "2026-11-10T00:00:00Z"}} {
		dir := consoletest.Explored(t, 300)
		a, _ := time.Parse(time.RFC3339, times[0])
		b, _ := time.Parse(time.RFC3339, times[1])
		consoletest.Spread(t, dir, a, b)
		got := ask(t, dir, "of=failed")
		n := 0
		for _, s := range got.Series {
			if len(s.Points) > 60 || len(s.Points) == 0 {
				t.Errorf("%v: %d parts", times, len(s.Points))
			}
			for _, p := range s.Points {
				n += p.N
			}
		}
		if n != got.Events || n != 300 {
			t.Errorf("%v: %d of %d events", times, n, got.Events)
		}
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("%v: %v", times, err)
		}
	}
}

// TestSealed: of an encrypted record without its identity, the answer says so.
func TestSealed(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{Policy: record.None, Recipients: []age.Recipient{id.Recipient()}})
	if err != nil {
		t.Fatal(err)
	}
	consoletest.Put(t, w, consoletest.Exchange("m", "p", "a"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if a := ask(t, dir, ""); !a.Sealed || a.Events != 0 {
		t.Errorf("%+v", a)
	}
}

// TestParse: what is not valid says what is; what is valid comes back.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"of=beauty": "want leaks, reached", "by=mood": "want model, caller", "of=tools&by=caller": "want model, tool", "from=2026-11-20&to=2026-11-10": "ends before", "from=soon": "from:", "model=" + strings.Repeat("m", 513): "longer than",
	} {
		v, _ := url.ParseQuery(text)
		if _, err := explore.Parse(v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"", "of=took", "by=caller&caller=c&from=2026-11-10&model=m&to=2026-11-20", "by=tool&of=tools&tool=t"} {
		v, _ := url.ParseQuery(text)
		q, err := explore.Parse(v)
		if err != nil || q.Values().Encode() != text {
			t.Errorf("%q: %q, %v", text, q.Values().Encode(), err)
		}
	}
}

// TestCanceled: whoever left is not counted for.
func TestCanceled(t *testing.T) {
	dir := consoletest.Explored(t, 9000)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q, _ := explore.Parse(url.Values{})
	if _, err := explore.Ask(ctx, consoletest.Store(t, dir), q); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
