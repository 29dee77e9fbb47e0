package gateway_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
)

// A resultFile is the results of a batch in one provider's form: a line for each API, one
// for an error, and what it says.
type resultFile struct {
	path string
	line func(id, reply string) string
	apis []string
	more string // a line without a reply
}

var resultFiles = []resultFile{
	{"/v1/files/file-1/content", func(id, reply string) string {
		return `{"id":"batch_req_1", "custom_id":"` + id + `","response":{"status_code":200,"request_id":"r1","body":` + reply + `},"error":null}` + "\n"
	}, []string{"openai.chat", "openai.completions", "openai.responses"}, `{"id":"b","custom_id":"e1","response":null,"error":{"code":"batch_expired","message":"too late"}}` + "\n"},
	{"/v1/messages/batches/b1/results", func(id, reply string) string {
		return `{"custom_id":"` + id + `","result":{"type":"succeeded","message":` + reply + `}}` + "\r\n"
	}, []string{"anthropic.messages"}, `{"custom_id":"e1","result":{"type":"errored","error":{"type":"error","error":{"type":"invalid_request_error","message":"too late"}}}}` + "\n"},
}

// lines is a file with a result of each API for each text.
func (f resultFile) lines(t *testing.T, texts ...string) (file string, speakers []speaker) {
	t.Helper()
	for i, text := range texts {
		for _, name := range f.apis {
			s := speakerOf(t, name)
			file += f.line(fmt.Sprintf("%s-%d", name, i), s.whole(text, sotto.EndStopped))
			speakers = append(speakers, s)
		}
	}
	return file + f.more, speakers
}

// fetchResults fetches a file of an upstream, which sends it in pieces.
func fetchResults(t *testing.T, c gateway.Config, path, file string) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(len(file))))
	base := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			t.Errorf("a part of the file is asked for: %v", r.Header)
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		for rest := file; rest != ""; {
			n := 1 + rng.IntN(len(rest))
			io.WriteString(w, rest[:n])
			http.NewResponseController(w).Flush()
			rest = rest[n:]
		}
	}), c)
	r, err := http.NewRequest("GET", base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Range", "bytes=7-")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	return readAll(t, resp.Body)
}

// TestResults: each line of the results of a batch is read as a reply of its API: the
// reasoning goes where the display wants it, and every other byte stays.
func TestResults(t *testing.T) {
	for _, f := range resultFiles {
		file, speakers := f.lines(t, "<think>I add.</think>It is 4.", "It is 5.")
		for display, thought := range map[routing.Display]string{routing.DisplayField: "I add.", routing.DisplayHide: "", routing.DisplayTags: "", routing.DisplayKeep: ""} {
			got := fetchResults(t, gateway.Config{Default: routing.Route{Display: display, Start: sotto.BeginOutside}}, f.path, file)
			if display == routing.DisplayKeep {
				if got != file {
					t.Errorf("%s is changed:\n%s\nwant\n%s", f.path, got, file)
				}
				continue
			}
			lines := strings.SplitAfter(got, "\n")
			if len(lines) != len(speakers)+2 || lines[len(speakers)] != f.more && display != routing.DisplayHide || !strings.Contains(lines[len(speakers)], "too late") {
				t.Fatalf("%s, %s: %d lines:\n%s", f.path, display, len(lines), got)
			}
			for i, s := range speakers {
				reply := gjson.Get(lines[i], "response.body")
				if !reply.Exists() {
					reply = gjson.Get(lines[i], "result.message")
				}
				h := s.listenWhole(t, []byte(reply.Raw))
				text, want := "It is 5.", ""
				if i < len(f.apis) {
					text, want = "It is 4.", thought
				}
				if i < len(f.apis) && display == routing.DisplayTags {
					text = "<think>\nI add.\n</think>\n\n" + text
				}
				h.wants(t, text, want)
				if was := strings.SplitAfter(file, "\n")[i]; i >= len(f.apis) && display != routing.DisplayHide && lines[i] != was {
					t.Errorf("a line that holds no reasoning is changed:\n%s\nwas\n%s", lines[i], was)
				}
				if id := gjson.Get(lines[i], "custom_id").Str; !strings.HasPrefix(id, s.name()) {
					t.Errorf("line %d has the id %q", i, id)
				}
			}
		}
	}
}

// TestHiddenResults: where reasoning is hidden, only what is known to be a result passes:
// canaries in unknown members, in replies of no API, in lines that are none and in other
// files reach nobody.
func TestHiddenResults(t *testing.T) {
	hide := gateway.Config{Routes: []routing.Route{{Models: []string{"other"}, Display: routing.DisplayHide}}}
	for _, f := range resultFiles {
		var file strings.Builder
		lines, speakers := f.lines(t, "<think>canary</think>It is 4.")
		rng := rand.New(rand.NewPCG(3, 3))
		for line := range strings.Lines(lines) {
			file.WriteString(planted(t, rng, line) + "\n")
		}
		strange := []string{
			f.line("x", `{"canary":"text"}`), f.line("x", `"canary"`), f.line("x", `{"choices":"canary"}`), f.line("x", `{"content":"canary","output":"canary"}`),
			`{"thought":"canary"}` + "\n", `["canary"]` + "\n", "canary\n", `{"custom_id":"x","canary":1}` + "\n", `{"custom_id":"x","custom_id":"canary","response":{}}` + "\n",
			f.line("x", `{"error":{"message":"too busy","failed_generation":"canary"}}`),
		}
		file.WriteString(strings.Join(strange, ""))
		got := fetchResults(t, hide, f.path, file.String()+"canary without an end")
		if strings.Contains(got, "canary") || strings.Contains(got, "424242") {
			t.Errorf("a canary came out:\n%s", got)
		}
		if n := strings.Count(got, "It is 4."); n < len(speakers) || !strings.Contains(got, "too late") || !strings.Contains(got, "too busy") {
			t.Errorf("%d answers of %d:\n%s", n, len(speakers), got)
		}
		for line := range strings.Lines(got) {
			if !gjson.Valid(line) {
				t.Errorf("not JSON: %s", line)
			}
		}
		for _, other := range []string{"canary in another file", "%PDF canary\x00\n\xff canary", strings.Repeat("canary", 10_000)} {
			if got := fetchResults(t, hide, f.path, other); strings.Contains(got, "canary") {
				t.Errorf("%.20q came out: %.200s", other, got)
			}
			if got := fetchResults(t, gateway.Config{}, f.path, other); got != other {
				t.Errorf("%.20q is changed: %.200q", other, got)
			}
		}
	}
}

// TestResultsAreBounded: a line beyond the limit of a frame ends the file where reasoning
// is hidden, and a refusal of the upstream's passes.
func TestResultsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	config := gateway.Config{Limits: gateway.Limits{Frame: 64 << 10}}
	if got := fetchResults(t, config, resultFiles[0].path, long+"\nend"); got != long+"\nend" {
		t.Errorf("%d bytes of %d", len(got), len(long)+4)
	}
	config.Default.Display = routing.DisplayHide
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, resultFiles[0].more)
		http.NewResponseController(w).Flush()
		io.WriteString(w, long+"\nend")
	}))
	defer up.Close()
	resp, err := http.Get(before(t, up.URL, config) + resultFiles[0].path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); err == nil || !strings.Contains(string(got), "too late") || strings.Contains(string(got), "xx") {
		t.Errorf("%v, %d bytes", err, len(got))
	}
}
