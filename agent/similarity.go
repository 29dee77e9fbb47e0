package agent

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lexical"
)

// The advisory compares a reflection with earlier ones. The thresholds are those
// that best separate the pairs of testdata/pairs.jsonl, which people wrote. In some
// pairs a reflection repeats another, possibly in other words; in the rest it says
// something new on the same matter. docs/explanation/agent.md has the figures.
const (
	// LexicalThreshold is for the cosine of letter groups, which needs no server.
	LexicalThreshold = 0.737
	// EmbeddingThreshold is for the cosine of vectors from sentence models.
	EmbeddingThreshold = 0.80
)

// advised is how many earlier reflections are compared.
const advised = 50

// A likeness says how similar a reflection is to an earlier one.
type likeness struct {
	score  float64
	cycle  int
	method string
}

// alike compares a text with the earlier reflections: by vectors if there is an
// embedder that works, else by letters. It waits through outages as an invocation
// of the turn does.
func (r *run) alike(ctx context.Context, t *turn, open bool, text string) (likeness, error) {
	past := r.memories[max(0, len(r.memories)-advised):]
	texts := make([]string, 0, len(past))
	for _, c := range past {
		texts = append(texts, c.reflection)
	}
	if len(texts) == 0 || strings.TrimSpace(text) == "" {
		return likeness{}, nil
	}
	method, scores := "lexical", []float64(nil)
	if r.x.Embedder != nil {
		failure, err := t.through(ctx, open, func() (bool, error) {
			var err error
			scores, err = r.embedded(ctx, text, texts)
			return false, err
		})
		switch {
		case err != nil:
			return likeness{}, err
		case failure == nil:
			method = "embedding"
		default:
			r.log.Warn("no embeddings; comparing texts by their letters", "err", failure)
		}
	}
	if method == "lexical" {
		scores = similarities(text, texts)
	}
	best := likeness{method: method}
	for i, s := range scores {
		if s > best.score {
			best.score, best.cycle = s, past[i].cycle
		}
	}
	best.score = math.Round(best.score*1000) / 1000
	return best, nil
}

// embedded compares by vectors. It keeps those of earlier reflections.
func (r *run) embedded(ctx context.Context, text string, earlier []string) ([]float64, error) {
	want := []string{text}
	for _, s := range earlier {
		if r.vectors[s] == nil {
			want = append(want, s)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, r.x.Limits.filled().ReplyTime)
	defer cancel()
	got, err := r.x.Embedder.Embed(ctx, want)
	if err != nil {
		return nil, err
	}
	if len(got) != len(want) {
		return nil, fmt.Errorf("%d vectors for %d texts", len(got), len(want))
	}
	vectors := map[string][]float32{}
	for i, s := range want {
		vectors[s] = got[i]
	}
	for _, s := range earlier {
		if v := r.vectors[s]; v != nil {
			vectors[s] = v
		}
	}
	r.vectors = vectors
	scores := make([]float64, len(earlier))
	for i, s := range earlier {
		if scores[i], err = cosine(vectors[text], vectors[s]); err != nil {
			return nil, err
		}
	}
	return scores, nil
}

func cosine(a, b []float32) (float64, error) {
	if len(a) != len(b) || len(a) == 0 {
		return 0, fmt.Errorf("vectors of different lengths, %d and %d", len(a), len(b))
	}
	var dot, x, y float64
	for i := range a {
		dot += float64(a[i]) * float64(b[i])
		x += float64(a[i]) * float64(a[i])
		y += float64(b[i]) * float64(b[i])
	}
	if x == 0 || y == 0 {
		return 0, nil
	}
	return dot / math.Sqrt(x*y), nil
}

// threshold is the score from which two reflections are taken to say the same.
func (r *run) threshold(method string) float64 {
	switch {
	case r.x.Advisory.Threshold > 0:
		return r.x.Advisory.Threshold
	case method == "embedding":
		return EmbeddingThreshold
	}
	return LexicalThreshold
}

// similarities compares a text with others by their letters, 0 to 1.
func similarities(text string, others []string) []float64 {
	a := lexical.Groups(text)
	out := make([]float64, len(others))
	for i, s := range others {
		out[i] = lexical.Cosine(a, lexical.Groups(s))
	}
	return out
}

// lexicalAll is similarities, except that words that all of the others share count
// less.
func lexicalAll(query string, texts []string) []float64 {
	groups := make([]map[string]float64, len(texts))
	in := map[string]float64{}
	for i, s := range texts {
		groups[i] = lexical.Groups(s)
		for g := range groups[i] {
			in[g]++
		}
	}
	weigh := func(m map[string]float64) {
		for g := range m {
			m[g] *= math.Log(1 + float64(len(texts))/(0.5+in[g]))
		}
	}
	q := lexical.Groups(query)
	weigh(q)
	out := make([]float64, len(texts))
	for i := range groups {
		weigh(groups[i])
		out[i] = lexical.Cosine(q, groups[i])
	}
	return out
}
