package record

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A run's name is refused by its length and its bytes, each where it stands.
func TestRunNames(t *testing.T) {
	for _, name := range []string{"", "a", "Z", "0", "_", ":a", "@a", "+a", "a.b-c:d@e+f", strings.Repeat("a", 128)} {
		if err := CheckRun(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, says := range map[string]string{".a": `'.' at byte 0`, "-a": `'-' at byte 0`, "a/": `'/' at byte 1`, "ab ": `' ' at byte 2`, "a\x80": `at byte 1`, "[": "at byte 0", "`": "at byte 0", "{": "at byte 0", "@/": "at byte 1", "a;": "at byte 1", strings.Repeat("a", 129): "129 bytes, 128 at most"} {
		if err := CheckRun(name); !errors.Is(err, ErrRunName) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", name, err, says)
		}
	}
}

// The cycle is read from the front of a line, and is not there, or not an integer, if it
// says something else.
func TestCycleIn(t *testing.T) {
	for front, want := range map[string]string{
		`{"cycle":12,"type"`: "12 true", `{"cycle":-3}`: "-3 true", `{"cycle":0,`: "0 true", `{"type":"X"`: "0 true", `{"cycle":9,`: "9 true", `{"cycle":12`: "0 false", `{"cycle":,`: "0 false", `{"cycle":1.5,`: "0 false", `{"cycle":--1,`: "0 false", `{"cycle":1-,`: "0 false", `{"cycle":"1",`: "0 false", `{"cycle":1e3,`: "0 false", `{"cycle":12 ,`: "0 false", `{"cycle":`: "0 false",
		`{"cycle":9223372036854775807,`: "9223372036854775807 true",
	} {
		n, ok := cycleIn([]byte(front))
		if got := fmt.Sprint(n, ok); got != want {
			t.Errorf("%s: %s, want %s", front, got, want)
		}
	}
	if _, ok := cycleIn([]byte(`{"cycle":9223372036854775808,`)); ok {
		t.Error("a cycle beyond 64 bits is an integer")
	}
}

// The facts of an index are those that its payload has, whichever type it is of.
func TestFactsOfLines(t *testing.T) {
	for _, c := range []struct {
		t    Type
		text string
		want string
	}{
		{TypeExchange, `{"model":"m"}`, "m []"}, {TypeInvocation, `{"model":"m","replies":[{"diagnostics":[{"code":"a"},{"code":"b"}]},{},{"diagnostics":[{"code":"c"}]}]}`, "m [a b c]"},
		{TypeRunStart, `{"model":"m","code":"c"}`, "m []"}, {TypeAdvisory, `{"code":"c","model":"m"}`, " [c]"}, {TypeError, `{"code":"c"}`, " [c]"}, {TypeError, `{}`, " []"}, {TypeCycleStart, `{"model":"m","code":"c"}`, " []"},
	} {
		f := factsIn(c.t, []byte(`{"payload":`+c.text+`}`))
		if got := fmt.Sprint(f.model, " ", f.codes); got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.t, c.text, got, c.want)
		}
	}
}

// Opening a record repairs what a crash left and refuses what it cannot continue. What it
// says is what it did, and nothing that was whole is lost.
func TestRepairs(t *testing.T) {
	line := func(seq uint64) []byte {
		dst := append(appendFront(nil, idIf(seq == 1, strings.Repeat("ab", idSize)), seq, 0, time.Unix(1, 0).UTC()), `"run":"","cycle":0,"type":"CYCLE_START","payload":{"goal":{"text":"x"}}`...)
		dst, _ = appendBack(dst, 0, Digest{})
		return dst
	}
	whole := string(line(1)) + string(line(2))
	for _, c := range []struct {
		name    string
		files   map[string]string
		says    string // the error
		torn    int64
		next    uint64
		sameID  bool
		removed string
	}{
		{name: "nothing", next: 1},
		{name: "whole", files: map[string]string{SegmentName(1): whole}, next: 3, sameID: true},
		{name: "torn", files: map[string]string{SegmentName(1): whole + "{\"v\":2"}, torn: 6, next: 3, sameID: true},
		{name: "torn first line", files: map[string]string{SegmentName(1): "{\"v"}, torn: 3, next: 1},
		{name: "empty after a whole one", files: map[string]string{SegmentName(1): whole, SegmentName(3): ""}, next: 3, sameID: true},
		{name: "torn after a whole one", files: map[string]string{SegmentName(1): whole, SegmentName(3): "{"}, torn: 1, next: 3, sameID: true},
		{name: "a last line that is not one", files: map[string]string{SegmentName(1): whole + "x\n"}, says: SegmentName(1) + ": the last line: not a line of a record"},
		{name: "a line before it that is not one", files: map[string]string{SegmentName(1): whole, SegmentName(3): "", SegmentName(9): ""}, next: 3, sameID: true},
		{name: "left half made", files: map[string]string{SegmentName(1): whole, ".tmp-1": "x"}, next: 3, sameID: true, removed: ".tmp-1"},
		{name: "a newer version", files: map[string]string{SegmentName(1): strings.Replace(whole, `{"v":2,"seq":2`, `{"v":3,"seq":2`, 1)}, says: "newer"},
		{name: "a broken tombstone alone", files: map[string]string{TombstoneName(1): "{"}, says: TombstoneName(1)},
		{name: "an empty segment after a broken one", files: map[string]string{SegmentName(1): "x\n", SegmentName(2): ""}, says: "not a line"},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var log strings.Builder
		w, err := Open(dir, Options{Policy: None, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: %v, want %s", c.name, err, c.says)
			}
			for name, text := range c.files {
				if data, _ := os.ReadFile(filepath.Join(dir, name)); string(data) != text {
					t.Errorf("%s: %s was changed", c.name, name)
				}
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		r, err := w.Append(t.Context(), Event{Payload: CycleStart{}})
		if err != nil || r.Seq != c.next || w.Repaired() != c.torn || (w.ID() == strings.Repeat("ab", idSize)) != c.sameID || strings.Contains(log.String(), "torn") != (c.torn > 0) {
			t.Errorf("%s: event %d, %v; %d bytes repaired; identity %s; log %s", c.name, r.Seq, err, w.Repaired(), w.ID(), &log)
		}
		if err := w.Close(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, c.removed)); c.removed != "" && err == nil {
			t.Errorf("%s: %s stays", c.name, c.removed)
		}
		if data, _ := os.ReadFile(filepath.Join(dir, SegmentName(1))); c.sameID && !strings.HasPrefix(string(data), whole) {
			t.Errorf("%s: whole lines were changed", c.name)
		}
	}
}
