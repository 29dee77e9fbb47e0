package doctor

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/reply/promptshown"
)

// TestPromptsAreKept: what the server showed of its prompts is in the report, and the
// gateway reads it from the data folder for a server that it does not ask.
func TestPromptsAreKept(t *testing.T) {
	base := started(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/v1/models":
			fmt.Fprint(w, `{"object":"list","data":[{"id":"frobnicator","owned_by":"vllm"}]}`)
		case "/version":
			fmt.Fprint(w, `{"version":"0.11.0"}`)
		case "/tokenize":
			tail := `"<think>","Ċ"`
			if strings.Contains(string(body), `"enable_thinking":false`) {
				tail = `"<think>","ĊĊ","</think>","ĊĊ"`
			}
			fmt.Fprintf(w, `{"token_strs":["<|im_start|>","user","Ċ","Hi","<|im_end|>","Ċ","<|im_start|>","assistant","Ċ",%s]}`, tail)
		default:
			http.NotFound(w, r)
		}
	})
	without, _ := examine(t, base, Options{Silent: true})
	r, _ := examine(t, base, Options{Silent: true, Prompts: true})
	if len(without.Prompts) != 0 || len(r.Prompts) != 3 {
		t.Fatalf("%+v", r.Prompts)
	}
	dir := t.TempDir()
	if err := promptshown.Keep(dir, r.Prompts); err != nil {
		t.Fatal(err)
	}
	if err := promptshown.Keep(dir, r.Prompts); err != nil { // in place of the same
		t.Fatal(err)
	}
	kept, err := promptshown.OpenExamined(dir, 0)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := url.Parse(base + "/v1")
	for members, want := range map[string]sotto.Beginning{
		"": "inside:think",
		`{"chat_template_kwargs":{"enable_thinking":true,"thinking":true}}`:   "inside:think",
		`{"chat_template_kwargs":{"enable_thinking":false,"thinking":false}}`: sotto.BeginOutside,
	} {
		q := promptshown.Question{Model: "frobnicator", Members: members, Chat: true}
		if got := kept.Lookup(sotto.Default(), at, q, time.Now()); got.Start != want {
			t.Errorf("%s: %+v, want %s", members, got, want)
		}
		if got := kept.Lookup(sotto.Default(), at, q, time.Now().AddDate(0, 2, 0)); got != (promptshown.Evidence{}) {
			t.Errorf("%s: %+v after two months", members, got)
		}
	}
}

// TestPromptsOfReplies: what the replies showed is kept too: a field of reasoning, and a
// close without an opener. A reply without either shows nothing.
func TestPromptsOfReplies(t *testing.T) {
	for message, want := range map[string]promptshown.Evidence{
		`{"content":"There are four.","reasoning_content":"23, 29, 31 and 37."}`: {Separates: true},
		`{"content":"23, 29, 31 and 37.\n</think>\n\nThere are four."}`:          {MayOpen: true},
		`{"content":"There are four."}`:                                          {},
	} {
		base := started(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch r.URL.Path {
			case "/v1/models":
				fmt.Fprint(w, `{"object":"list","data":[{"id":"frobnicator"}]}`)
			case "/v1/chat/completions":
				fmt.Fprintf(w, `{"object":"chat.completion","choices":[{"index":0,"message":%s,"finish_reason":"stop"}]}`, strings.Replace(message, "{", `{"role":"assistant",`, 1))
			default:
				http.NotFound(w, r)
			}
		})
		r, _ := examine(t, base, Options{Prompts: true})
		var got promptshown.Evidence
		if len(r.Prompts) > 0 {
			got = promptshown.Evidence{Start: r.Prompts[0].Start, MayOpen: r.Prompts[0].MayOpen, Separates: r.Prompts[0].Separates}
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", message, got, want)
		}
	}
}
