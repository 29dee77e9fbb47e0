// Package geminicli_test drives gemini-cli without a terminal through the gateway: a
// prompt with a picture, a call of the tool that reads files, its result and the
// answer, and a second prompt in the resumed session.
package geminicli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/interop/internal/wiretap"
)

const (
	noteText = "The owl is in the barn.\n"
	// gemini-cli counts the tokens of a prompt with a picture.
	firstPrompt, secondPrompt = "How is the weather in @picture.png?", "And now?"
	picture                   = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
)

// home has the files that gemini-cli finds. The base URL alone is not enough: without
// the setting it takes a way to log in that it then refuses.
var home = map[string]string{
	".gemini/settings.json": `{"security":{"auth":{"selectedType":"gemini-api-key"}},"general":{"maxAttempts":1},"privacy":{"usageStatisticsEnabled":false}}`,
	"work/note.txt":         noteText,
	"work/picture.png":      picture,
}

var calls = []scripted.ToolCall{{Name: "read_file", Arguments: `{"file_path": "note.txt"}`}}

// A stage is gemini-cli in a home of its own, and the servers that it talks to.
type stage struct {
	home, model   string
	base, alone   string // the addresses of the gateway and of the upstream
	before, after *wiretap.Tap
}

func newStage(t *testing.T, model string, display routing.Display) *stage {
	t.Helper()
	if os.Getenv("SOTTO_GEMINI_CLI") == "" {
		t.Skip("SOTTO_GEMINI_CLI is not set: run it as SOTTO_GEMINI_CLI=$(interop/geminicli/install)")
	}
	s := &stage{home: t.TempDir(), model: model, after: wiretap.New(scripted.New(scripted.Options{Calls: calls}))}
	for name, text := range home {
		path := filepath.Join(s.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	up := httptest.NewServer(s.after)
	t.Cleanup(up.Close)
	u, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	g, err := gateway.New(gateway.Config{Upstream: u, Default: routing.Route{Display: display}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	s.before = wiretap.New(g)
	front := httptest.NewServer(s.before)
	t.Cleanup(front.Close)
	s.base, s.alone = front.URL, up.URL
	return s
}

// An output is the object that gemini-cli prints, and everything that it wrote.
type output struct {
	Response string
	Error    *struct{ Message string }
	all      string
}

// ask gives gemini-cli a prompt. It has three minutes, since the machine may be busy.
func (s *stage) ask(t *testing.T, base string, args ...string) (o output) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	program := filepath.Join(os.Getenv("SOTTO_GEMINI_CLI"), "node_modules/@google/gemini-cli/bundle/gemini.js")
	cmd := exec.CommandContext(ctx, "node", append([]string{program, "-m", s.model, "--output-format", "json", "--yolo", "--skip-trust"}, args...)...)
	cmd.Dir = filepath.Join(s.home, "work")
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "HOME="+s.home, "GEMINI_API_KEY=key", "GOOGLE_GEMINI_BASE_URL="+base)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	o.all = string(out) + errs.String()
	if err != nil {
		t.Fatalf("%v\n%s", err, o.all)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return o
}

// thought returns the place where one of a model's thoughts in text is, or "". In a
// session file the pieces of a thought are a list.
func thought(m *scripted.Model, text string) string {
	for _, r := range []*scripted.Reply{m.Call, m.Result} {
		for _, s := range append([]string{"think>", `"thoughts":[{`, `"thought":true`}, r.Reasoning...) {
			if at := strings.Index(text, s); at >= 0 {
				return text[max(at-100, 0):min(at+100, len(text))]
			}
		}
	}
	return ""
}

// kept returns the files that gemini-cli left in its home.
func (s *stage) kept(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	root := os.DirFS(filepath.Join(s.home, ".gemini"))
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := fs.ReadFile(root, path)
		all.Write(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestGeminiCLI runs it with a model whose thoughts are in the text, one that sends
// them as parts, and one that signs its calls.
func TestGeminiCLI(t *testing.T) {
	for _, model := range []string{"qwen3:8b", "deepseek-v3.2", "gemini"} {
		for _, display := range []routing.Display{routing.DisplayHide, routing.DisplayField} {
			t.Run(model+"/"+string(display), func(t *testing.T) {
				s := newStage(t, model, display)
				m, ok := scripted.Find(model)
				if !ok {
					t.Fatalf("no model %s", model)
				}
				for _, args := range [][]string{{"-p", firstPrompt}, {"--resume", "latest", "-p", secondPrompt}} {
					o := s.ask(t, s.base, args...)
					if o.Error != nil || !strings.HasSuffix(o.Response, m.Result.Visible) {
						t.Errorf("%s: answered %q, %v\n%s", args, o.Response, o.Error, o.all)
					}
					if at := thought(m, o.all); at != "" {
						t.Errorf("%s: a thought in the output: …%s…", args, at)
					}
				}
				at := thought(m, s.kept(t))
				if want := display == routing.DisplayField && len(m.Call.Reasoning) > 0; want != (at != "") {
					t.Errorf("a thought is in its files: %t, want %t: …%s…", at != "", want, at)
				}
				judgeRequests(t, s, m)
			})
		}
	}
}

// TestGeminiCLIAlone: what the gateway is for.
func TestGeminiCLIAlone(t *testing.T) {
	s := newStage(t, "qwen3:8b", routing.DisplayHide)
	if o := s.ask(t, s.alone, "-p", firstPrompt); !strings.Contains(o.Response, "</think>") {
		t.Errorf("without the gateway, no thought is in the answer %q", o.Response)
	}
}

// judgeRequests compares what the upstream got with what gemini-cli sent, byte for byte.
func judgeRequests(t *testing.T, s *stage, m *scripted.Model) {
	t.Helper()
	before, after := s.before.Of("key"), s.after.Of("key")
	var paths []string
	for _, r := range after {
		paths = append(paths, strings.TrimPrefix(r.Path, "/v1beta/models/"+m.Name+":"))
	}
	const stream = "streamGenerateContent"
	if want := []string{"countTokens", stream, stream, stream, stream}; !slices.Equal(paths, want) || len(before) != len(after) {
		t.Fatalf("%d requests, and at the upstream %q, want %q", len(before), paths, want)
	}
	note, _ := json.Marshal(noteText)
	if !bytes.Contains(after[2].Body, append([]byte(`"response":{"output":`), note...)) {
		t.Errorf("the upstream does not get the file's text: %s", after[2].Body)
	}
	call := ""
	if m.Wire == "google" {
		call = callOf(t, after[1].Reply)
	}
	for i := range after {
		if want := due(m, before[i].Body, call); string(after[i].Body) != want {
			t.Errorf("request %d: the upstream got\n%s\nwant\n%s", i, after[i].Body, want)
		}
	}
	if last := string(after[4].Body); !strings.Contains(last, firstPrompt) || !strings.Contains(last, secondPrompt) {
		t.Errorf("the second prompt did not resume the session: %s", last)
	}
}
