package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/doctor"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// runWith runs a command with an environment.
func runWith(env map[string]string, args ...string) (status int, out, errs string) {
	var stdout, stderr bytes.Buffer
	status = Run(args, strings.NewReader(""), &stdout, &stderr, func(name string) string { return env[name] })
	return status, stdout.String(), stderr.String()
}

// TestDoctor: the exit status says whether something is wrong that Sotto does not mend.
// What the diagnosis costs is printed first, and the key goes to the server alone.
func TestDoctor(t *testing.T) {
	model := scripted.New(scripted.Options{})
	key := "canary-of-the-key"
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if key != "" && r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			io.WriteString(w, `{"error":{"message":"\u001b[31mno key"}}`)
			return
		}
		model.ServeHTTP(w, r)
	}))
	defer upstream.Close()
	env := map[string]string{"SOTTO_UPSTREAM_KEY": key}
	status, out, errs := runWith(env, "doctor", "--upstream", upstream.URL, "--model", "qwen3:8b")
	if status != 0 || !strings.Contains(out, "mended   whole") || !strings.HasPrefix(errs, "sotto: examining "+upstream.URL+": at most 26 requests, 8 of them questions") || strings.Contains(out+errs, "canary") {
		t.Errorf("%d\n%s%s", status, out, errs)
	}
	status, out, errs = runWith(env, "doctor", "--upstream", upstream.URL, "--model", "qwen3:8b", "--json")
	var report doctor.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil || status != 0 || report.V != 1 || report.Server.Name != doctor.Ollama || len(report.Asks) != 6 {
		t.Errorf("%d %v\n%s%s", status, err, out, errs)
	}
	status, out, errs = runWith(nil, "doctor", "--upstream", upstream.URL)
	if status != 1 || !strings.Contains(out, "SOTTO_UPSTREAM_KEY") || !strings.Contains(errs, "1 finding") || strings.Contains(out+errs, "\x1b") {
		t.Errorf("%d\n%s%s", status, out, errs)
	}
	status, out, errs = runWith(nil, "doctor", "--upstream", "http://127.0.0.1:1", "--json")
	if err := json.Unmarshal([]byte(out), &report); err != nil || status != 4 || !strings.Contains(errs, "hint: start the model server") {
		t.Errorf("%d %v\n%s%s", status, err, out, errs)
	}
	for _, args := range [][]string{{"--upstream", "localhost:11434"}, {"--api", "grpc"}, {"--tokens", "-1"}} {
		if status, _, errs := runWith(nil, append([]string{"doctor"}, args...)...); status != 2 {
			t.Errorf("%q: %d %s", args, status, errs)
		}
	}
	key = ""
	local := strings.TrimPrefix(upstream.URL, "http://")
	if status, out, errs := runWith(map[string]string{"OLLAMA_HOST": local}, "doctor", "--no-questions"); status != 0 || !strings.Contains(out, "skipped  questions") || !strings.Contains(errs, "the model is asked nothing") {
		t.Errorf("%d\n%s%s", status, out, errs)
	}
}

// TestDoctorKeeps: with a data folder, doctor keeps what the server shows of its prompts,
// and announces the requests. The key of the server is not in the file, and a damaged file
// is not written over.
func TestDoctorKeeps(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/v1/models":
			io.WriteString(w, `{"object":"list","data":[{"id":"frobnicator"}]}`)
		case "/apply-template":
			io.WriteString(w, `{"prompt":"Hi<|im_end|>\n<|im_start|>assistant\n<think>\n"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer upstream.Close()
	dir := filepath.Join(t.TempDir(), "data")
	env := map[string]string{"SOTTO_UPSTREAM_KEY": "canary-of-the-key"}
	args := []string{"doctor", "--upstream", upstream.URL, "--no-questions", "--data", dir}
	status, out, errs := runWith(env, args...)
	file := filepath.Join(dir, "prompts.json")
	kept, err := os.ReadFile(file)
	if err != nil || status != 0 || !strings.Contains(errs, "at most 48 requests") || !strings.Contains(string(kept), `"start": "inside:think"`) || strings.Contains(string(kept), "canary") {
		t.Errorf("%d, %v\n%s%s%s", status, err, out, errs, kept)
	}
	if err := os.WriteFile(file, []byte(`{"v":9}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := runWith(env, args...); status == 0 || !strings.Contains(errs, "prompts.json") {
		t.Errorf("a file of a newer program: %d %s", status, errs)
	}
}

// Doctor and probe name the server in the same ways: an argument, a flag or the
// environment. The argument counts before the environment, and two servers on the
// command line are refused.
func TestServerIsNamed(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	const other = "http://127.0.0.1:1"
	for _, command := range [][]string{{"doctor", "--no-questions", "--json"}, {"probe", "--json"}} {
		for _, tt := range []struct {
			env    string
			args   []string
			status int
		}{
			{"", []string{server.URL}, 1},
			{"", []string{"--upstream", server.URL}, 1},
			{"", []string{server.URL, "--upstream", server.URL}, 1},
			{server.URL, nil, 1},
			{other, []string{server.URL}, 1},
			{server.URL, []string{other}, 4},
			{"", []string{server.URL, "--upstream", other}, 2},
		} {
			status, _, errs := runWith(map[string]string{"SOTTO_UPSTREAM": tt.env}, append(command[:len(command):len(command)], tt.args...)...)
			if status != tt.status {
				t.Errorf("SOTTO_UPSTREAM=%s sotto %s %v: status %d, want %d: %s", tt.env, command[0], tt.args, status, tt.status, errs)
			}
		}
	}
}
