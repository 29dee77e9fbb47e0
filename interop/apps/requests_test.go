package apps_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// judgeRequests compares the requests that the upstream got with the ones that it
// should get for those of an application, byte for byte. Requests may be under way
// at the same time, so they are compared in the order of their bytes.
func judgeRequests(t *testing.T, s *stage, a *application, m *scripted.Model) {
	t.Helper()
	var want, got []string
	for _, r := range s.before.Of("key") {
		want = append(want, r.Path+"\n"+due(t, a, m, string(r.Body)))
	}
	for _, r := range s.after.Of("key") {
		got = append(got, r.Path+"\n"+string(r.Body))
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(got) != len(want) {
		t.Fatalf("%d requests, and %d at the upstream", len(want), len(got))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("the upstream got\n%s\nwant\n%s", got[i], want[i])
		}
	}
}

// due returns the body that the upstream should get for one that an application
// sent, under `--history auto`. A provider that has a field for reasoning gets it
// with each reply. Reasoning that a model writes in its text goes back as it wrote
// it, in the turn under way alone, and only if the application sent it. A message that has nothing else does not
// go back in later turns.
func due(t *testing.T, a *application, m *scripted.Model, body string) string {
	t.Helper()
	items := history(body)
	user := 0 // the last message of the user
	for i, e := range items {
		if e.Get("role").Str == "user" {
			user = i
		}
	}
	var b strings.Builder
	at, k := 0, 0
	put := func(e gjson.Result, raw string) {
		b.WriteString(body[at:e.Index] + raw)
		at = e.Index + len(e.Raw)
	}
	for i, e := range items {
		thinks := e.Get("type").Str == "reasoning" // an item of OpenAI's responses
		if !thinks && (e.Get("role").Str != "assistant" || e.Get("type").Exists()) {
			continue
		}
		r := []*scripted.Reply{m.Call, m.Result}[k%2]
		k++
		sends := a.shows && (i > user || !a.forgets)
		checkSent(t, sends, r, e)
		switch {
		case thinks && r.Thought == nil:
			put(e, "")
			at++                                                          // the comma
			if next := items[i+1]; next.Get("content.0.text").Str == "" { // nothing but the thought is left of this message
				if i > user {
					put(next, `{"type":"message","role":"assistant","content":[{"type":"output_text","text":`+quote(r.Text())+`}]}`)
				} else {
					put(next, "")
					at++
				}
			}
		case !thinks && r.Thought == nil:
			raw := e.Raw
			for _, name := range []string{"reasoning_content", "reasoning"} {
				raw = strings.Replace(raw, `,"`+name+`":`+e.Get(name).Raw, "", 1)
			}
			if i > user && a.shows {
				raw = withText(raw, "content", r)
			}
			put(e, raw)
		case !thinks && !sends:
			put(e, `{"reasoning_content":`+quote(strings.Join(r.Thought, ""))+","+e.Raw[1:])
		}
	}
	return b.String() + body[at:]
}

// history returns the messages, or items, of a request.
func history(body string) []gjson.Result {
	return append(gjson.Get(body, "messages").Array(), gjson.Get(body, "input").Array()...)
}

// checkSent checks the reasoning that an application sent back with a reply.
func checkSent(t *testing.T, sends bool, r *scripted.Reply, e gjson.Result) {
	t.Helper()
	want := ""
	if sends {
		want = strings.Join(r.Reasoning, "")
	}
	if sent := e.Get("reasoning_content").Str + e.Get("summary.0.text").Str; sent != want {
		t.Errorf("the application sent the reasoning %q back, want %q", sent, want)
	}
}

// withText puts a reply's whole text in place of the empty one that was left of it.
func withText(raw, name string, r *scripted.Reply) string {
	raw = strings.Replace(raw, `"`+name+`":null`, `"`+name+`":""`, 1)
	return strings.Replace(raw, `"`+name+`":""`, `"`+name+`":`+quote(r.Text()), 1)
}

func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
