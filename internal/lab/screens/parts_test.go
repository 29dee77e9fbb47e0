package screens

import (
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/console"
	"github.com/sotto-llm/sotto/internal/lab/report"
	"github.com/sotto-llm/sotto/internal/lab/runview"
	"github.com/sotto-llm/sotto/internal/recorded/sidecar"
	"github.com/sotto-llm/sotto/record"
)

// The windows beside a window have its size, and end where the run does.
func TestWindowLinks(t *testing.T) {
	timeline := func(from, to, first, last int) *runview.Timeline {
		return &runview.Timeline{Window: runview.Window{From: from, To: to}, First: first, Last: last}
	}
	for _, c := range []struct {
		of   *runview.Timeline
		want windowLinks
	}{
		{timeline(4, 6, 1, 20), windowLinks{"?", "?from=1&to=3", "?from=7&to=9"}},
		{timeline(3, 6, 1, 7), windowLinks{"?", "?from=1&to=2", "?from=7&to=7"}},
		{timeline(1, 7, 1, 7), windowLinks{All: "?"}},
		{timeline(2, 2, 1, 3), windowLinks{"?", "?from=1&to=1", "?from=3&to=3"}},
	} {
		if got := around(c.of); got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.of.Window, got, c.want)
		}
	}
}

// What a page of a memory can lead to: the file, other tasks, other runs, and the record.
func TestMemoryChoices(t *testing.T) {
	list := []string{"a", "b"}
	for _, c := range []struct {
		d    memoryData
		want string
	}{
		{memoryData{Memory: &runview.Memory{Tasks: list[:1], Runs: list[:1]}}, ""},
		{memoryData{Memory: &runview.Memory{Tasks: list, Task: "b"}, HasFile: true}, "memory false, memory?task=a false, memory?task=b true"},
		{memoryData{Memory: &runview.Memory{Tasks: list}, HasFile: true, HasRecord: true}, "memory true, memory?task=a false, memory?task=b false, memory?from=record false"},
		{memoryData{Memory: &runview.Memory{Runs: list, Run: "a"}, HasFile: true, HasRecord: true, Seen: true}, "memory false, memory?run=a true, memory?run=b false"},
		{memoryData{Memory: &runview.Memory{}, HasRecord: true, Seen: true}, ""},
	} {
		c.d.choose()
		var got []string
		for _, x := range c.d.Choices {
			got = append(got, fmt.Sprint(x.Link, " ", x.Current))
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%v, want %s", got, c.want)
		}
	}
	for n, want := range map[int]string{1: "1", 3: "1 2 3", 10: "1 2 3 4 5 6 7 8 9 10", 11: "2 4 6 8 10 11", 25: "5 10 15 20 25", 42: "5 10 15 20 25 30 35 40 42"} {
		line := func(by float64) (l report.Line) {
			for i := range n {
				l.Points = append(l.Points, by*float64(i+1))
			}
			return l
		}
		for _, hits := range [][]report.Line{nil, {line(0.5)}} {
			d := memoryData{Memory: &runview.Memory{Curve: []report.Line{line(1), line(2)}, Hits: hits}}
			d.points()
			var got []string
			for _, p := range d.Points {
				got = append(got, fmt.Sprint(p.After))
				if p.Templates != p.After || p.Traces != 2*p.After || p.HasHits != (hits != nil) || p.HasHits && p.Hits != float64(p.After)/2 {
					t.Errorf("after %d: %+v", p.After, p)
				}
			}
			if strings.Join(got, " ") != want {
				t.Errorf("of %d: %v, want %s", n, got, want)
			}
		}
	}
}

// Every name of a run is a segment of a path, which leads back to the name.
func TestRunTokens(t *testing.T) {
	for name, want := range map[string]string{"first-a": "first-a", "": "~", "a/b": "~YS9i", "..": "~Li4", "~YS9i": "~fllTOWk", "a?b#c": "~YT9iI2M"} {
		token := console.RunToken(name)
		r := httptest.NewRequest("GET", "/", nil)
		r.SetPathValue("run", token)
		if back, err := runNamed(r); token != want || back != name || err != nil {
			t.Errorf("%q is %q, which names %q, %v", name, token, back, err)
		}
	}
}

// A word for a shell is quoted unless it holds nothing but letters, digits and marks that
// mean nothing to a shell.
func TestShellWords(t *testing.T) {
	for word, want := range map[string]string{"": "''", "azAZ09._-:@+/": "azAZ09._-:@+/", "it's": `'it'\''s'`} {
		if got := shellWord(word); got != want {
			t.Errorf("%q is %s, want %s", word, got, want)
		}
	}
	for c := range rune(0x80) {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-:@+/", c)
		if got := shellWord(string(c)); (got == string(c)) != plain {
			t.Errorf("%q is %s", c, got)
		}
	}
}

// Each status of a run or a cycle has a class, and each similarity a text.
func TestClasses(t *testing.T) {
	for class, list := range map[string]string{
		"answered": "done answered completed", "open": "open", "canceled": "canceled aborted", "failed": "failed unreachable x",
		"refused": "suspended paused bounded no_visible_answer text_call refused rejected stopped input-required",
	} {
		for _, status := range strings.Fields(list) {
			if got := stateOf(status); got != class {
				t.Errorf("%s is of the class %s, want %s", status, got, class)
			}
		}
	}
	if got := stateOf("") + share(0) + share(0.5) + share(0.994) + share(0.995) + share(1); got != "unknown.00.50.9911" {
		t.Error(got)
	}
}

// A similarity has one of ten shades.
func TestShades(t *testing.T) {
	if got := shade(-1) + shade(0) + shade(0.55) + shade(1); got != "s0s0s5s9" {
		t.Errorf("%s", got)
	}
}

// The commands that go on with a run or repeat it are those of a run of sotto's own; for
// others the page says why there are none.
func TestCommands(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	w, err := record.Open(dir, record.Options{Policy: record.None})
	if err != nil {
		t.Fatal(err)
	}
	for run, p := range map[string]record.RunStart{"half": {Agent: "sotto"}, "whole": {Agent: "sotto"}, "called": {Agent: "sotto", Parent: "whole"}, "other": {Agent: "x"}} {
		if _, err := w.Append(t.Context(), record.Event{Run: run, Payload: p}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Append(t.Context(), record.Event{Run: "whole", Payload: record.RunEnd{Status: "done"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := sidecar.Open(dir, record.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	of := &lab{Config: Config{Record: r, Name: "my audit"}, runs: runview.NewSource(r)}
	const extend, replay = "sotto run --config FILE --name %s --record 'my audit'", "sotto run --config FILE --name %s --replay 'my audit'"
	for run, want := range map[string][]command{
		"half":   {{What: console.Word("again.resume"), Text: fmt.Sprintf(extend, "half"), Note: console.Word("again.resume.note")}, {What: console.Word("again.replay"), Text: fmt.Sprintf(replay, "half"), Note: console.Word("again.replay.note")}},
		"whole":  {{What: console.Word("again.extend"), Text: fmt.Sprintf(extend, "whole"), Note: console.Word("again.extend.note")}, {What: console.Word("again.replay"), Text: fmt.Sprintf(replay, "whole"), Note: console.Word("again.replay.note")}},
		"called": {{What: console.Word("again.extend"), Why: console.Word("again.called")}, {What: console.Word("again.replay"), Why: console.Word("again.called")}},
		"other":  {{What: console.Word("again.extend"), Why: console.Word("again.other")}, {What: console.Word("again.replay"), Why: console.Word("again.other")}},
	} {
		var d runData
		if _, err := d.again(of, httptest.NewRequest("GET", "/", nil), run); err != nil || fmt.Sprint(d.Commands) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, %v; want %+v", run, d.Commands, err, want)
		}
		if d = (runData{}); d.others(of, httptest.NewRequest("GET", "/", nil), run) != nil || len(d.Others) < 2 || slices.Contains(d.Others, run) {
			t.Errorf("%s is compared with %v", run, d.Others)
		}
	}
}
