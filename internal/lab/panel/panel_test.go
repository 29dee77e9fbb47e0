package panel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/lab/judge"
	"github.com/sotto-llm/sotto/internal/recorded/recordset"
	"github.com/sotto-llm/sotto/record"
)

func said(run string, cycle int, raw ...string) *recordset.Event {
	var replies []record.Reply
	for i, text := range raw {
		r := record.ReplyOf(sotto.Parse(text, sotto.EndStopped))
		r.Choice = i
		replies = append(replies, r)
	}
	e := &recordset.Event{}
	e.Run, e.Cycle, e.Seq, e.Payload = run, cycle, uint64(100*cycle+len(raw)), record.Invocation{Model: "m-" + run, Replies: replies}
	return e
}

// TestCollect takes the texts of cycles whose events are mixed with those of other runs, and
// of replies without a cycle.
func TestCollect(t *testing.T) {
	failed := said("a", 2, "<think>w</think>lost")
	failed.Payload = record.Invocation{Model: "m-a", Error: "broken off", Replies: failed.Payload.(record.Invocation).Replies}
	events := []*recordset.Event{
		said("a", 1, "<think>first</think>one"), said("b", 1, "other"), said("a", 1, "<think>second</think>two"), failed,
		said("a", 2, "<think>only a thought</think>"), said("a", 3, "three"), said("", 0, "x", "y"),
	}
	for of, want := range map[string]string{
		judge.OfReply:   "a/cycle/1=one\n\ntwo; event/2=x; event/2=y; b/cycle/1=other; a/cycle/3=three",
		judge.OfThought: "a/cycle/1=first\n\nsecond; a/cycle/2=only a thought",
		judge.OfAll: "a/cycle/1=[what was thought]\nfirst\n\nsecond\n\n[what was said]\none\n\ntwo; a/cycle/2=[what was thought]\nonly a thought\n\n[what was said]; " +
			"event/2=x; event/2=y; b/cycle/1=other; a/cycle/3=three",
	} {
		c := &Collector{Of: of, Limit: 100}
		for _, e := range events {
			c.Event(e)
		}
		list, err := c.Replies()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range list {
			got = append(got, r.ID+"="+strings.TrimSpace(r.Text))
			if r.Run != "" && r.Author != "m-"+r.Run {
				t.Errorf("%s is by %q", r.ID, r.Author)
			}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s:\n%q, want\n%q", of, strings.Join(got, "; "), want)
		}
	}
	c := &Collector{Of: judge.OfReply, Run: "b", Limit: 100}
	for _, e := range events {
		c.Event(e)
	}
	if list, err := c.Replies(); err != nil || len(list) != 1 || list[0].Text != "other" {
		t.Errorf("of one run: %v, %v", list, err)
	}
	if _, err := (&Collector{Limit: 1}).Replies(); err == nil {
		t.Error("nothing was found, without an error")
	}
}

// TestWithheld rates no text of which a part was not recorded.
func TestWithheld(t *testing.T) {
	e := said("a", 0, "the key is abc")
	x := e.Payload.(record.Invocation)
	x.Replies[0].Raw.Cuts = []record.Cut{{Start: 11, End: 14, Why: record.CutByLimit}}
	x.Replies[0].Raw.Text = "the key is "
	e.Payload = x
	c := &Collector{Of: judge.OfReply, Limit: 10}
	c.Event(e)
	c.Event(said("a", 0, "whole"))
	list, err := c.Replies()
	if err != nil || len(list) != 1 || list[0].Text != "whole" || c.Withheld != 1 || c.Found != 2 {
		t.Errorf("%v, %v, %d withheld of %d", list, err, c.Withheld, c.Found)
	}
}

// TestSample takes the same texts in any order of the replies, and gives texts that are the
// same to the raters once.
func TestSample(t *testing.T) {
	sample := func(order []int) []string {
		c := &Collector{Of: judge.OfReply, Limit: 7}
		for _, i := range order {
			c.Line(fmt.Sprint(i), "m", "", sotto.Parse(fmt.Sprintf("text %d", i%40), sotto.EndStopped))
		}
		list, err := c.Replies()
		if err != nil || len(list) != 7 || c.Found != len(order) {
			t.Fatalf("%d of %d, %v", len(list), c.Found, err)
		}
		subjects, of := Subjects(list)
		var texts []string
		for i, n := range of {
			if subjects[n].Text != list[i].Text {
				t.Fatalf("reply %d has text %q", i, subjects[n].Text)
			}
		}
		for _, s := range subjects {
			texts = append(texts, s.Text)
		}
		slices.Sort(texts)
		if len(slices.Compact(slices.Clone(texts))) != len(texts) {
			t.Errorf("a text comes twice: %q", texts)
		}
		return texts
	}
	var up, down []int
	for i := range 80 {
		up, down = append(up, i), append(down, 79-i)
	}
	if a, b := sample(up), sample(down); !slices.Equal(a, b) {
		t.Errorf("%q, %q", a, b)
	}
	c := &Collector{Of: judge.OfReply, Limit: 1}
	c.Line("long", "", "", sotto.Parse(strings.Repeat("é", MaxGiven), sotto.EndStopped))
	if list, err := c.Replies(); err != nil || !list[0].Cut || len(list[0].Text) > MaxGiven {
		t.Errorf("a long text: %v", err)
	}
}

// TestRaters reads a file of raters, and names each fault with its place.
func TestRaters(t *testing.T) {
	const good = "v: 1\nraters:\n  - name: a\n    model: {provider: openai, name: m, url: 'http://localhost:1', key-env: KEY}\n    temperature: 0.5\n  - {name: b, model: {provider: scripted, script: s.yaml}, think: low}\n"
	env := func(name string) string { return map[string]string{"KEY": "k"}[name] }
	list, err := ReadRaters("dir/raters.yaml", []byte(good), env)
	if err != nil || len(list) != 2 || list[0].Model.Key != "k" || list[1].Model.Script != "dir/s.yaml" {
		t.Fatalf("%+v, %v", list, err)
	}
	r := list[0].Rubric(&judge.Rubric{Name: "r", MaxTokens: 5})
	if r.Of != judge.OfReply || *r.Temperature != 0.5 || r.MaxTokens != 5 {
		t.Errorf("the rubric of a rater: %+v", r)
	}
	for text, want := range map[string]string{
		"":                                       "the file is empty",
		strings.Replace(good, "v: 1", "v: 3", 1): "v: want 1",
		strings.Replace(good, "name: b", "name: A", 1):                "raters[1].name: A is taken",
		strings.Replace(good, "name: b", "name: ../b", 1):             "raters[1].name: want a name",
		strings.Replace(good, "think: low", "think: much", 1):         "think: want true",
		strings.Replace(good, "KEY", "NONE", 1):                       "raters[0].model.key-env: the environment has no variable",
		strings.Replace(good, "provider: scripted, ", "", 1):          "raters[1]: model.provider: want",
		strings.Replace(good, "temperature: 0.5", "temprature: 1", 1): "unknown key",
		"v: 1\nraters: []": "raters: want 1 to 50 raters",
	} {
		if _, err := ReadRaters("raters.yaml", []byte(text), env); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngives %v, want %q", text, err, want)
		}
	}
}

const scale = "v: 1\nname: r\nrepeat: 2\ncriteria: [{name: size, description: d, scale: [0, 10]}, {name: mood, description: e, labels: [calm, tense], level: nominal}]\n"

// TestResult computes the means, the cycles and the agreement of two raters by hand, with a
// rating that is missing and two replies with the same text.
func TestResult(t *testing.T) {
	rubric, err := judge.ReadRubric("r.yaml", []byte(scale))
	if err != nil {
		t.Fatal(err)
	}
	replies := []Reply{{ID: "1", Author: "x", Run: "a", Cycle: 1}, {ID: "2", Author: "x", Run: "a", Cycle: 2}, {ID: "3", Author: "y"}}
	of := []int{0, 1, 0}
	work := []Work{
		{Rater: Rater{Name: "p"}, Outcome: &judge.Outcome{Scores: [][][]float64{{{2, 1}, {4, 1}}, {{8, 2}, {8, 2}}}}},
		{Rater: Rater{Name: "q"}, Outcome: &judge.Outcome{Scores: [][][]float64{{{3, 1}, nil}, {{9, 1}, {7, 2}}}, Failed: 1}},
	}
	r := NewResult(rubric, 5, replies, of, work)
	if r.Ratings != 8 || r.Rated != 7 || r.Failed != 1 || r.Missing != 0 || r.Texts != 2 || len(r.Each) != 2*(3*4-2) {
		t.Errorf("%d ratings, %d rated, %d failed, %d missing, %d texts, %d values", r.Ratings, r.Rated, r.Failed, r.Missing, r.Texts, len(r.Each))
	}
	means := map[string]float64{}
	for _, m := range r.Means {
		means[m.Author+" "+m.Item+" "+m.Label] = m.Mean
	}
	for name, want := range map[string]float64{"x size ": 5.5, "y size ": 3, "all size ": 5.5, "x mood tense": 0.375, "y mood calm": 1} {
		if means[name] != want {
			t.Errorf("mean of %q: %g, want %g", name, means[name], want)
		}
	}
	if len(r.Cycles) != 2 || r.Cycles[0].Mean != 3 || r.Cycles[1].Low != 8 || r.Cycles[1].High != 8 {
		t.Errorf("cycles: %+v", r.Cycles)
	}
	if p := r.Pairs[0]; p.Ratings != 3 || p.Same != 0 || r.Pairs[2].Same != 2.0/3 {
		t.Errorf("pairs: %+v", r.Pairs)
	}
	if s := r.Self[0]; s.Alpha.Units != 2 || *s.Alpha.Value >= 1 || *s.Alpha.Value <= 0 {
		t.Errorf("self: %+v", s)
	}
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); lines[len(lines)-1] != strings.TrimSpace(r.Last()) {
		t.Errorf("the last line is %q", lines[len(lines)-1])
	}
	page, err := r.Page()
	if err != nil || strings.Count(string(page), "<svg") != 3 { // means of both, and one course
		t.Errorf("the page has %d drawings, %v", strings.Count(string(page), "<svg"), err)
	}
}

// TestHostileNames has markup and control characters in every text from others.
func TestHostileNames(t *testing.T) {
	rubric, err := judge.ReadRubric("r.yaml", []byte(strings.Replace(scale, "tense", "<script>", 1)))
	if err != nil {
		t.Fatal(err)
	}
	odd := "<script>alert(1)</script>\x1b[2J\u202e\n"
	replies := []Reply{{ID: odd, Author: odd, Run: odd, Cycle: 1}}
	r := NewResult(rubric, 1, replies, []int{0}, []Work{{Rater: Rater{Name: odd}, Record: odd, Outcome: &judge.Outcome{Run: odd, Scores: [][][]float64{{{1, 2}, {1, 2}}}}}})
	r.Record = odd
	page, err := r.Page()
	if err != nil || strings.Contains(string(page), "<script") || strings.ContainsAny(string(page), "\x1b\u202e") {
		t.Errorf("the page is not safe: %v", err)
	}
	var out strings.Builder
	if err := r.Print(&out); err != nil || strings.ContainsAny(out.String(), "\x1b\u202e") {
		t.Errorf("the text is not safe: %v", err)
	}
}
