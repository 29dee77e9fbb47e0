package model_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/model"
)

// A model's server that answers with JSON nested without end, or beyond the
// bound, fails the invocation and nothing else. A parser that recurses into it
// overflows its stack, which ends the process and this whole test binary with it.
func TestHostileServers(t *testing.T) {
	size := 8 << 20
	if effort.Brief() {
		size = 1 << 20
	}
	answers := map[string]string{
		"open lists":     strings.Repeat("[", size),
		"open objects":   strings.Repeat(`{"error":`, size/9),
		"valid and deep": `{"choices":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
	}
	for name, answer := range answers {
		for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
			for kind, body := range map[string]string{
				"application/json":     answer,
				"text/event-stream":    "data: " + answer + "\n\n",
				"application/x-ndjson": answer + "\n",
			} {
				url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", kind)
					w.WriteHeader(status)
					_, _ = io.WriteString(w, body)
				}))
				for _, provider := range []string{"openai", "ollama", "anthropic"} {
					m := open(t, model.Config{Provider: provider, URL: url, Model: "m", Retries: -1})
					var e *model.Error
					if r := invoke(t, m, asked("?")); !errors.As(r.err, &e) || len(r.err.Error()) > 2000 {
						t.Errorf("%s as %s, %d, %s: %v", name, kind, status, provider, r.err)
					}
					if embedder, ok := m.(model.Embedder); ok {
						if _, err := embedder.Embed(t.Context(), []string{"a"}); !errors.As(err, &e) || len(err.Error()) > 2000 {
							t.Errorf("%s as %s, %d, %s: embeddings: %v", name, kind, status, provider, err)
						}
					}
				}
			}
		}
	}
}

// An error says which bound a frame is over.
func TestNestedFrame(t *testing.T) {
	url := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, chunks(hello, strings.Repeat(`{"a":`, 1001)+"0"+strings.Repeat("}", 1001), stop, done))
	}))
	r := invoke(t, open(t, model.Config{Provider: "openai", URL: url, Model: "m"}), asked("?"))
	if !errors.Is(r.err, model.ErrUnreadable) || !strings.Contains(r.err.Error(), "a frame nests deeper than 1000 levels at byte 5000") || r.reply.Raw != "hello" {
		t.Errorf("%v, %q", r.err, r.reply.Raw)
	}
}
