package honest

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// TestAdversary plays random worlds, and reports each kind of leak once, as the smallest
// world that still shows it.
func TestAdversary(t *testing.T) {
	if text := os.Getenv("SOTTO_ADVERSARY_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		w := worldOf(seed)
		t.Logf("%s", w)
		if f := w.run(t); f != nil {
			small, f := w.smaller(t)
			t.Errorf("%s\n%s\n%s", f.what, small, f.got.body)
		}
		return
	}
	begun, lasts := time.Now(), duration(t)
	first := uint64(1) // without a duration, every run is the same as far as it comes
	if os.Getenv("SOTTO_ADVERSARY") != "" {
		first = uint64(begun.UnixNano()) / 1000
	}
	t.Logf("the first seed is %d; it runs for %v", first, lasts)
	seen, tried := map[string]int{}, map[string]bool{}
	n := uint64(0)
	for ; time.Since(begun) < lasts; n++ {
		w := worldOf(first + n)
		f := w.run(t)
		if f != nil && w.Requests[f.at].Who == "alice" { // what others get matters too
			other := w
			other.Judged = "bob"
			report(t, other, other.run(t), seen, tried)
		}
		report(t, w, f, seen, tried)
	}
	t.Logf("%d worlds, %d kinds of leaks", n, len(seen))
	for _, class := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%4d × %s", seen[class], class)
	}
}

// report makes a world with a fault smaller, and reports its kind if it is new.
func report(t *testing.T, w world, f *fault, seen map[string]int, tried map[string]bool) {
	if f == nil || tried[w.trait(f)] {
		return
	}
	tried[w.trait(f)] = true
	small, f := w.smaller(t)
	class := small.class(f)
	if seen[class]++; seen[class] == 1 {
		t.Errorf("SOTTO_ADVERSARY_SEED=%d\n%s: %s\n%s", w.Seed, class, f.what, small)
	}
}

// duration is how long the test runs.
func duration(t *testing.T) time.Duration {
	text := cmp.Or(os.Getenv("SOTTO_ADVERSARY"), "3s")
	if os.Getenv("SOTTO_ADVERSARY") == "" && !effort.Brief() {
		text = "10s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("SOTTO_ADVERSARY: %v", err)
	}
	return d
}

// trait is what a fault looks like before its world is made smaller.
func (w world) trait(f *fault) string {
	q := w.Requests[f.at]
	return fmt.Sprint(w.Display, w.Script, w.Server, w.Bridge, q, find(w.Model).unknown)
}

// class names the kind of a fault in a world that is as small as it gets.
func (w world) class(f *fault) string {
	q := w.Requests[f.at]
	var b strings.Builder
	sc := scriptNamed(w.Script)
	switch {
	case len(w.Requests) > 1:
		fmt.Fprintf(&b, "%s learns from", q.Who)
		for _, other := range w.Requests[:f.at] {
			fmt.Fprintf(&b, " %s%q", other.Who, other.Tweaks)
		}
	case len(q.Tweaks) > 0:
		fmt.Fprintf(&b, "asks for %q", q.Tweaks)
	case sc.name != "plain" && sc.name != "loose close":
		b.WriteString("the model " + sc.name)
	default:
		b.WriteString("a plain request")
	}
	shown := "shown"
	if w.Display != "hide" {
		shown = "in the content"
	}
	if strings.HasSuffix(f.what, "twice") {
		shown = "twice"
	}
	name := "a family"
	if find(w.Model).unknown {
		name = "an unknown name"
	}
	if w.Bridge != "" {
		name += " over a bridge"
	}
	fmt.Fprintf(&b, ", %s, %s", name, shown)
	if len(q.Tweaks) > 0 && sc.name != "plain" {
		b.WriteString(", the model " + sc.name)
	}
	return b.String()
}

// smaller leaves out of a world what its fault does not need.
func (w world) smaller(t testing.TB) (world, *fault) {
	best := w.run(t)
	for again := true; again; {
		again = false
		for _, c := range w.simpler(best.at) {
			if f := c.run(t); f != nil {
				w, best, again = c, f, true
				break
			}
		}
	}
	return w, best
}

// simpler are worlds with one thing less.
func (w world) simpler(at int) (list []world) {
	try := func(change func(*world)) {
		c := w
		c.Requests = slices.Clone(w.Requests)
		change(&c)
		list = append(list, c)
	}
	if at+1 < len(w.Requests) {
		try(func(c *world) { c.Requests = c.Requests[:at+1] })
	}
	for i := range w.Requests {
		if len(w.Requests) > 1 {
			try(func(c *world) { c.Requests = slices.Delete(c.Requests, i, i+1) })
		}
		for j := range w.Requests[i].Tweaks {
			try(func(c *world) { c.Requests[i].Tweaks = slices.Delete(slices.Clone(c.Requests[i].Tweaks), j, j+1) })
		}
		if w.Requests[i].Socket {
			try(func(c *world) { c.Requests[i].Socket = false })
		}
		if w.Requests[i].Batch {
			try(func(c *world) { c.Requests[i].Batch = false })
		}
		if w.Requests[i].Stream {
			try(func(c *world) { c.Requests[i].Stream = false })
		}
	}
	if w.Tokens {
		try(func(c *world) { c.Tokens = false })
	}
	if w.NoAnswer != "empty" {
		try(func(c *world) { c.NoAnswer = "empty" })
	}
	if w.Script != "plain" {
		try(func(c *world) { c.Script = "plain" })
	}
	return list
}
