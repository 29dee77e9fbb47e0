package model

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/foreignjson"
)

// An embedding is an API that has embeddings.
type embedding interface {
	// embeddings is the path of them below the URL.
	embeddings() []string
}

func (c *client) embeds() bool {
	_, ok := c.api.(embedding)
	return ok
}

// An embedder is a client whose API has embeddings.
type embedder struct{ *client }

var _ Embedder = (*embedder)(nil)

type embedRequest struct {
	Model string `json:"model"`
	Input []text `json:"input"`
}

// embedAtOnce is the maximum number of texts of one request.
const embedAtOnce = 128

// maxVectors bounds the answer to one request: 128 vectors of 16,384 numbers.
const maxVectors = 64 << 20

// Embed asks the server for the vectors of texts, in as many requests as it takes.
func (e *embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	var all [][]float32
	for len(texts) > 0 {
		n := min(embedAtOnce, len(texts))
		vectors, err := e.embed(ctx, texts[:n])
		if err != nil {
			return nil, err
		}
		all, texts = append(all, vectors...), texts[n:]
		if len(vectors[0]) != len(all[0]) {
			return nil, e.unreadable("vectors of different lengths, %d and %d", len(all[0]), len(vectors[0]))
		}
	}
	return all, nil
}

func (e *embedder) embed(ctx context.Context, texts []string) (vectors [][]float32, err error) {
	q := embedRequest{Model: e.Model}
	for _, t := range texts {
		q.Input = append(q.Input, text(t))
	}
	body, err := marshal(q)
	if err != nil {
		return nil, err
	}
	err = e.retrying(ctx, func() (bool, error) {
		return false, e.worded(e.post(ctx, e.api.(embedding).embeddings(), body, func(_ *http.Response, r io.Reader) error {
			b, err := readAll(r, maxVectors)
			if err == nil {
				vectors, err = e.vectors(b, len(texts))
			}
			return err
		}))
	})
	return vectors, err
}

func (e *embedder) unreadable(format string, args ...any) error {
	return e.worded(fmt.Errorf("%w: "+format, append([]any{ErrUnreadable}, args...)...))
}

// vectors reads an answer in the form of OpenAI, or of Ollama.
func (e *embedder) vectors(b []byte, n int) ([][]float32, error) {
	root, err := foreignjson.Limits{Members: foreignjson.ReplyMembers}.Parse(b)
	if err != nil {
		return nil, e.unreadable("the list of vectors %v", err)
	}
	if says(root.Get("error")) {
		return nil, said(0, b)
	}
	var list []gjson.Result
	add := func(v gjson.Result) error {
		if list = append(list, v); len(list) > n {
			return e.unreadable("more than %d vectors for %d texts", n, n)
		}
		return nil
	}
	if err := each(root.Get("embeddings"), add); err != nil {
		return nil, err
	}
	err = each(root.Get("data"), func(d gjson.Result) error {
		if at := d.Get("index"); at.Exists() && int(at.Int()) != len(list) {
			return e.unreadable("the embeddings are not in the order of their texts")
		}
		return add(d.Get("embedding"))
	})
	switch {
	case err != nil:
		return nil, err
	case len(list) != n:
		return nil, e.unreadable("%d vectors for %d texts", len(list), n)
	}
	vectors := make([][]float32, n)
	for i, v := range list {
		err := each(v, func(x gjson.Result) error {
			f := float32(x.Num)
			if x.Type != gjson.Number || math.IsNaN(float64(f)) || math.IsInf(float64(f), 0) {
				return e.unreadable("a vector holds %s", clean(x.Raw))
			}
			vectors[i] = append(vectors[i], f)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(vectors[i]) == 0 || len(vectors[i]) != len(vectors[0]) {
			return nil, e.unreadable("vectors of different lengths, %d and %d", len(vectors[0]), len(vectors[i]))
		}
	}
	return vectors, nil
}
