package budget

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestMemoryLog: the log says once that requests are refused, and once, when none
// was refused for a while, that there is room again.
func TestMemoryLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := New(100_000, slog.New(slog.NewTextHandler(&log, nil)))
		for range 3 {
			first, _ := b.Open()
			second, _ := b.Open()
			for range 3 {
				if _, err := b.Open(); err == nil {
					t.Error("a third exchange has room")
				}
				time.Sleep(time.Second)
			}
			first.Leave()
			second.Leave()
		}
		time.Sleep(quietFor)
		if c, err := b.Open(); err == nil {
			c.Leave()
		}
		text := log.String()
		if strings.Count(text, "requests are refused") != 1 || strings.Count(text, "memory for exchanges is available again") != 1 {
			t.Error(text)
		}
		if b.used.Load() != 0 {
			t.Errorf("%d bytes are held", b.used.Load())
		}
	})
}

// TestCharge: what is reserved goes back once, with the last who holds it.
func TestCharge(t *testing.T) {
	b := New(1<<20, slog.New(slog.DiscardHandler))
	c, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	c.Keep()
	if c.Take(100_000) != nil || c.Stream(300_000) != nil || c.Stream(40_000) != nil || c.Use(1000, func() error { return nil }) != nil {
		t.Error("there is room")
	}
	if used := b.used.Load(); used != BaseCost+100_000+3*levelStep {
		t.Errorf("%d bytes are held", used)
	}
	if c.Take(1<<20) == nil || c.Take(1<<21) == nil {
		t.Error("there is no room")
	}
	c.Leave()
	if b.used.Load() == 0 {
		t.Error("a holder is left")
	}
	c.Leave()
	if used := b.used.Load(); used != 0 {
		t.Errorf("%d bytes are held", used)
	}
}

// A stream reserves memory in steps, at most half more than there is, and gives it back.
func TestStreamsReserve(t *testing.T) {
	b := &Budget{log: slog.New(slog.DiscardHandler)}
	b.max.Store(BaseCost + 4*levelStep)
	c, err := b.Open()
	if err != nil {
		t.Fatal(err)
	}
	c.max = 4 * levelStep // so that a stream may hold 6 of them, with what the exchange has
	most := int64(6*levelStep-BaseCost) / levelStep * levelStep
	for _, step := range []struct {
		n, held int64
		err     error
	}{{0, 0, nil}, {1, levelStep, nil}, {levelStep, levelStep, nil}, {levelStep + 1, 2 * levelStep, nil}, {most, most, nil}, {most + 1, most, ErrOverdrawn}, {1, levelStep, nil}, {0, 0, nil}} {
		if err := c.Stream(step.n); err != step.err || c.held != BaseCost+step.held || b.used.Load() != c.held {
			t.Errorf("a stream of %d bytes: %v; %d of %d bytes are reserved, want %d", step.n, err, c.held, b.used.Load(), BaseCost+step.held)
		}
	}
	c.Keep()
	c.Leave()
	if b.used.Load() == 0 {
		t.Error("memory is released while somebody holds it")
	}
	if c.Leave(); b.used.Load() != 0 {
		t.Errorf("%d bytes stay reserved", b.used.Load())
	}
}

// What a text costs to read grows with its bytes and with what may begin a marker.
func TestReadCosts(t *testing.T) {
	for text, want := range map[string]int64{"": 0, "abcde": 5 * textCost, "a<b[": 4*textCost + 2*markerCost, `\u003cthink\u003C`: 17*textCost + 2*markerCost, "◁": 3*textCost + markerCost} {
		if got := ReadCost(text); got != want || ReadCost(text, text) != 2*want {
			t.Errorf("%q costs %d, want %d", text, got, want)
		}
	}
	for body, want := range map[string]int64{"": 0, "[]": 0, `{"a":{}}`: 2 * objectCost} {
		if got := ParsedCost([]byte(body)); got != want {
			t.Errorf("%s costs %d, want %d", body, got, want)
		}
	}
}
