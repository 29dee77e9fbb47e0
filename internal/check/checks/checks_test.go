package checks

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// statuses are the checks of a list in short.
func statuses(l *List) string {
	var b strings.Builder
	for _, c := range l.Checks {
		b.WriteString(c.Name + ":" + string(c.Status) + " ")
	}
	return strings.TrimSpace(b.String())
}

// TestMake: after a step that says why no more can be made, and when the time is over, each
// further step is skipped with the reason, and nothing of it is done.
func TestMake(t *testing.T) {
	for name, c := range map[string]struct {
		stop   string
		cancel bool
		want   string
		reason string
	}{
		"all":      {"", false, "a:ok b:ok c:ok", ""},
		"stopped":  {"no key", false, "a:ok b:ok c:skipped", "not asked: no key"},
		"time out": {"", true, "a:ok b:ok c:skipped", "not asked: the time was over"},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		l := &List{}
		step := func(name string, after func() string) Step {
			return Step{Name: name, Make: func() string {
				l.Add(Check{Name: name, Status: OK})
				return after()
			}}
		}
		none := func() string { return "" }
		l.Make(ctx, []Step{step("a", none), step("b", func() string {
			if c.cancel {
				cancel()
			}
			return c.stop
		}), step("c", none)})
		cancel()
		if d := cmp.Diff(c.want, statuses(l)); d != "" || l.Checks[2].Detail != c.reason {
			t.Errorf("%s: %s %+v", name, d, l.Checks)
		}
	}
}

// TestWithin: a run that the whole time ends is a finding; one that the caller ends is an
// error and no finding; and a run's own error is returned.
func TestWithin(t *testing.T) {
	wait := func(ctx context.Context) error { <-ctx.Done(); return nil }
	synctest.Test(t, func(t *testing.T) {
		l := &List{}
		began := time.Now()
		if err := l.Within(t.Context(), Bounds{}.Or(time.Minute), wait); err != nil || statuses(l) != "time:finding" || time.Since(began) != 10*time.Minute {
			t.Errorf("%v: %s after %s", err, statuses(l), time.Since(began))
		}
		l = &List{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Within(ctx, Bounds{Whole: time.Hour}, wait); !errors.Is(err, context.DeadlineExceeded) || len(l.Checks) > 0 {
			t.Errorf("%v: %s", err, statuses(l))
		}
		if err := l.Within(t.Context(), Bounds{Whole: time.Hour}, func(context.Context) error { return ErrUnreachable }); !errors.Is(err, ErrUnreachable) {
			t.Error(err)
		}
	})
}

// TestPrint: interfaces have a column where a check has one; what to do stands below; and what
// a server wrote cannot break a line.
func TestPrint(t *testing.T) {
	for _, c := range []struct {
		list []Check
		want string
	}{
		{[]Check{{Name: "a", Status: OK}, {Name: "b", Status: Finding, Detail: "x\n\x1b[31my", Do: "try"}}, "ok       a\nfinding  b  x⏎␛[31my\n            → try\n"},
		{[]Check{{Name: "a", Status: OK}, {Interface: "I 1", Name: "b", Status: Finding, Detail: "d"}}, "ok       -    a\nfinding  I 1  b  d\n"},
	} {
		var b strings.Builder
		if err := Print(&b, c.list); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, b.String()); d != "" {
			t.Error(d)
		}
	}
}

// TestCounts: the counts are those of the checks, and words from a server are bounded.
func TestCounts(t *testing.T) {
	r := &Report{}
	r.Delivered("", "a", true, "", "")
	r.Delivered("", "b", true, "a leak", "")
	r.Delivered("", "c", false, "", "no answer came")
	r.Add(Check{Name: "d", Status: Unknown, Detail: strings.Repeat("x", 10_000)})
	r.Add(Check{Name: "e", Status: Mended})
	if statuses(&r.List) != "a:ok b:finding c:skipped d:unknown e:mended" || r.Answers != 2 || r.Findings != 1 || r.Unknown != 2 || len(r.Checks[3].Detail) > maxWords+3 {
		t.Errorf("%+v", r)
	}
}
