package studyreport_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
)

// TestAnswer: the answer is the difference of the compared values, with its interval. Few
// repetitions are marked, many are not, and the cells of the first pair that differs are named.
func TestAnswer(t *testing.T) {
	for _, c := range []struct {
		repetitions int
		streams     bool
		measure     string
		few         bool
	}{{3, true, "solved_share", true}, {12, true, "solved_share", false}, {12, false, "repeated_share", false}, {8, false, "repeated_share", true}} {
		dir := t.TempDir()
		if c.streams {
			studytest.Streams(t, dir, studytest.Grid{Models: []string{"a", "b"}, Modes: []string{"io", "template"}, Repetitions: c.repetitions, Size: 24})
		} else {
			studytest.Runs(t, dir, studytest.Grid{Models: []string{"a", "b"}, Modes: []string{"strip", "keep"}, Repetitions: c.repetitions, Size: 5})
		}
		r, err := studyreport.Build(t.Context(), dir, studyreport.Options{})
		if err != nil {
			t.Fatal(err)
		}
		list := r.Answer()
		if len(list) != 2 {
			t.Fatalf("%+v: %+v", c, list)
		}
		var d *studyreport.Difference
		for i := range r.Differences {
			if x := &r.Differences[i]; x.Measure == c.measure && x.Pairs == studyreport.PairsOfCells {
				d = x
				break
			}
		}
		first := list[0]
		if !strings.Contains(first.Text, " instead of ") || !strings.Contains(first.Text, ": "+strings.ReplaceAll(c.measure, "_", " ")+" ") || first.Few != c.few || first.Repetitions != c.repetitions {
			t.Errorf("%+v: %+v", c, first)
		}
		if shown := d.Low != nil && (*d.Low > 0 || *d.High < 0); first.Shown != shown || shown == strings.Contains(first.Text, "does not show") {
			t.Errorf("%+v: %+v of %+v", c, first, d)
		}
		if first.Of == "" || first.Of == first.Base {
			t.Errorf("%+v: the pair %q and %q", c, first.Of, first.Base)
		}
		for _, p := range r.Means() {
			if few := strings.Contains(string(p.Drawing.SVG()), "too few"); few != c.few {
				t.Errorf("%+v: the picture of %s says too few: %v", c, p.Title, few)
			}
		}
	}
}

// TestManyComparisons: what differs comes first, the largest first, and what is equal is one
// sentence however many comparisons there are.
func TestManyComparisons(t *testing.T) {
	dir := t.TempDir()
	var models []string
	for i := range 12 {
		models = append(models, fmt.Sprintf("model-%02d", i))
	}
	m := studytest.Streams(t, dir, studytest.Grid{Models: models, Modes: []string{"io", "template"}, Repetitions: 3, Size: 6})
	for i := range m.Cells { // only the models 5 and 9 gain something, the second one more
		c := &m.Cells[i]
		share := 0.5
		if gain := map[string]float64{"model-05": 0.1, "model-09": 0.3}[c.Value("model")]; c.Value("mode") == "template" {
			share += gain
		}
		studytest.State(t, dir, c, study.Done, map[string]float64{"solved_share": share})
	}
	r, err := studyreport.Build(t.Context(), dir, studyreport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := r.Answer()
	if len(list) != 3 || !strings.Contains(list[0].Text, "model-09") || !strings.Contains(list[1].Text, "model-05") || !strings.HasPrefix(list[2].Text, "No difference of the solved share in any pair: ") || !strings.Contains(list[2].Text, "and 4 more") {
		t.Errorf("%+v", list)
	}
	for i := range m.Cells { // all gain something else
		c := &m.Cells[i]
		share := 0.5
		if c.Value("mode") == "template" {
			share += float64(i+1) / 100
		}
		studytest.State(t, dir, c, study.Done, map[string]float64{"solved_share": share})
	}
	if r, err = studyreport.Build(t.Context(), dir, studyreport.Options{}); err != nil {
		t.Fatal(err)
	}
	if list = r.Answer(); len(list) != 9 || !strings.HasPrefix(list[8].Text, "4 more comparisons differ less") {
		t.Errorf("%+v", list)
	}
}

// TestOneScale: the pictures of a curve, and those of differences, have the same scale.
func TestOneScale(t *testing.T) {
	dir := t.TempDir()
	studytest.Streams(t, dir, studytest.Grid{Models: []string{"a", "b"}, Modes: []string{"io", "template"}, Repetitions: 3, Size: 24})
	r, err := studyreport.Build(t.Context(), dir, studyreport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	axis := func(svg []byte) (labels string) {
		for text := range strings.SplitSeq(string(svg), "<text") {
			if strings.Contains(text, `class="tick`) || strings.Contains(text, `class="axis`) {
				labels += text[strings.Index(text, ">"):strings.Index(text, "<")] + " "
			}
		}
		return labels
	}
	for i := range r.Curves {
		list := r.Panels(&r.Curves[i])
		if len(list) != 2 || axis(list[0].Drawing.SVG()) != axis(list[1].Drawing.SVG()) || axis(list[0].Drawing.SVG()) == "" {
			t.Errorf("%s: %q and %q", r.Curves[i].Name, axis(list[0].Drawing.SVG()), axis(list[len(list)-1].Drawing.SVG()))
		}
	}
	list := r.Forests()
	for _, p := range list[1:] {
		if axis(p.Drawing.SVG()) != axis(list[0].Drawing.SVG()) {
			t.Errorf("%s: %q and %q", p.Title, axis(p.Drawing.SVG()), axis(list[0].Drawing.SVG()))
		}
	}
}
