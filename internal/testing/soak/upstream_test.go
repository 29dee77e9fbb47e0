//go:build linux

package soak

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// hugeBytes is the size of the text of the model huge, of which the record keeps as much
// as its limit allows.
const hugeBytes = 2 << 20

// upstream is the scripted upstream, with what a single process has not: replies of
// megabytes, requests without an answer, responses in the background and files of results.
func upstream() http.Handler {
	replies := scripted.New(scripted.Options{Pause: 2 * time.Millisecond})
	mux := http.NewServeMux()
	mux.Handle("/", replies)
	var background atomic.Int64
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		switch gjson.GetBytes(body, "model").Str {
		case "huge":
			huge(w)
		case "hangs":
			<-r.Context().Done()
		default:
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			replies.ServeHTTP(w, r)
		}
	})
	mux.HandleFunc("POST /v1/responses", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if !gjson.GetBytes(body, "background").Bool() {
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			replies.ServeHTTP(w, r)
			return
		}
		inBackground(w, fmt.Sprintf("resp_b%d", background.Add(1)), "queued", "")
	})
	mux.HandleFunc("GET /v1/responses/{id}", func(w http.ResponseWriter, r *http.Request) {
		inBackground(w, r.PathValue("id"), "completed", `{"id":"m1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"<think>It is a capital.</think>Ottawa.","annotations":[]}]}`)
	})
	mux.HandleFunc("GET /v1/files/{id}/content", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		for n := range 20 {
			fmt.Fprintf(w, `{"id":"b%d","custom_id":"c%d","response":{"status_code":200,"request_id":"r","body":{"id":"x","object":"chat.completion","model":"qwen3:8b","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":"<think>Which one?</think>Ottawa."}}]}},"error":null}`+"\n", n, n)
		}
	})
	return mux
}

func inBackground(w http.ResponseWriter, id, status, item string) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":%q,"object":"response","background":true,"status":%q,"model":"qwen3:8b","output":[%s]}`, id, status, item)
}

// huge streams a reply as fast as it is read.
func huge(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	line := strings.Repeat("The river is long. ", 100)
	for sent := 0; sent < hugeBytes; sent += len(line) {
		if _, err := fmt.Fprintf(w, "data: {\"id\":\"h\",\"object\":\"chat.completion.chunk\",\"model\":\"huge\",\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", line); err != nil {
			return
		}
	}
	fmt.Fprint(w, "data: {\"id\":\"h\",\"object\":\"chat.completion.chunk\",\"model\":\"huge\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// guard is a guard that lets most pieces pass, cuts some, and fails for some.
func guard() http.Handler {
	var n atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch n.Add(1) % 25 {
		case 0:
			http.Error(w, "busy", http.StatusInternalServerError)
		case 1, 2, 3:
			fmt.Fprint(w, `{"action":"cut","reason":"tried"}`)
		default:
			fmt.Fprint(w, `{"action":"pass"}`)
		}
	})
}
