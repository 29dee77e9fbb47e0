package thoughts

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/model"
)

// TestEmbed compares thoughts by embeddings as well as by letters, and reports a server
// that fails or gives too few vectors.
func TestEmbed(t *testing.T) {
	h := &history{t: t}
	for c, raw := range []string{"sum the digits", "sum the digits", "chess opening", "opening chess"} {
		h.reply("a", c+1, "m", "<think>"+raw+"</think>x")
		h.reply("b", c+1, "m", "<think>chess opening</think>x")
	}
	scripted := model.NewScripted("words", &model.Script{})
	asked := 0
	o := Options{Space: "words", Embed: func(ctx context.Context, texts []string) ([][]float32, error) {
		asked += len(texts)
		return scripted.Embed(ctx, texts)
	}}
	r := h.analyse(o)
	value := func(space, measure string) Estimate {
		return row(t, r.Repetition, func(r Repetition) bool {
			return r.Group == allGroup && r.Space == space && r.Measure == measure
		}).Estimate
	}
	// In a: 1, 0, and 1, because the order of words does not matter; in b: three times 1.
	if got := value("words", Previous); math.Abs(got.Value-5.0/6) > 1e-6 || got.N != 6 || asked != 8 {
		t.Errorf("%+v, %d texts", got, asked)
	}
	if got := value("words", Across).Value; math.Abs(got-0.5) > 1e-6 { // half of the pairs are alike
		t.Errorf("across: %v", got)
	}
	o.Embed = func(context.Context, []string) ([][]float32, error) { return nil, errors.New("no server") }
	if _, err := Analyse(stream(h.events), o); err == nil || !strings.Contains(err.Error(), "embeddings of 8 thoughts: no server") {
		t.Error(err)
	}
	o.Embed = func(context.Context, []string) ([][]float32, error) { return make([][]float32, 3), nil }
	if _, err := Analyse(stream(h.events), o); err == nil || !strings.Contains(err.Error(), "3 vectors for 8 thoughts") {
		t.Error(err)
	}
	o.Texts, asked = 3, 0
	o.Embed = func(ctx context.Context, texts []string) ([][]float32, error) {
		asked += len(texts)
		return scripted.Embed(ctx, texts)
	}
	if h.analyse(o); asked != 3 {
		t.Errorf("%d texts are embedded, want those that are held: 3", asked)
	}
}

// TestJudgedFigure computes means, agreement and deviation by hand.
func TestJudgedFigure(t *testing.T) {
	h := &history{t: t}
	for i, raw := range []string{"one", "two", "three", "four"} {
		h.verdict("a", i+1, h.reply("a", i+1, "m", "<think>"+raw+"</think>x"), i < 2)
	}
	r := h.analyse(Options{})
	scores := map[string][][]float64{"one": {{4}, {5}}, "two": {{3}, {3}}, "three": {{1}}, "four": nil}
	var list []Scored
	for _, held := range r.Held(10) {
		list = append(list, Scored{held, scores[held.Text]})
	}
	j := row(t, r.JudgedFigure([]Criterion{{"c", 1, 5}}, list), func(j Judged) bool { return j.Group == "m" })
	if j.N != 3 || math.Abs(j.Value-(4.5+3+1)/3) > 1e-12 || j.Right.Value != 3.75 || j.Right.N != 2 || j.Wrong.Value != 1 || j.Wrong.N != 1 {
		t.Errorf("%+v", j)
	}
	// The squares of one are 0.5 and of two 0, over two degrees of freedom.
	if j.Repeated != 2 || j.Same.Count != 1 || math.Abs(j.Deviation-0.5) > 1e-12 {
		t.Errorf("%+v", j)
	}
	if len(r.Held(2)) != 2 {
		t.Error("more thoughts than the limit")
	}
}

// BenchmarkAnalyse reads replies with thoughts of about 30 words.
func BenchmarkAnalyse(b *testing.B) {
	h := randomRuns(&testing.T{}, rand.New(rand.NewPCG(3, 4)), 30, 20)
	bytes := 0
	for i := range h.events {
		if r, ok := replyIn(&h.events[i]); ok {
			bytes += len(r)
		}
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		c := newCollector(Options{}.orDefaults())
		for i := range h.events {
			c.event(&h.events[i], nil)
		}
		c.finish()
	}
}
