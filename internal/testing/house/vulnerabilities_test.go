package house

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
)

// A vulnerability database with two entries: one that .ci/vulnerabilities expects
// in every database, and an invented one in a function of gjson.
const (
	modules = `[
	{"path": "golang.org/x/text", "vulns": [{"id": "GO-2020-0015", "modified": "2020-01-01T00:00:00Z", "fixed": "0.3.3"}]},
	{"path": "github.com/tidwall/gjson", "vulns": [{"id": "GO-0000-0001", "modified": "2020-01-01T00:00:00Z"}]}
]`
	known = `{"schema_version": "1.3.1", "id": "GO-2020-0015", "modified": "2020-01-01T00:00:00Z", "affected": [{
	"package": {"name": "golang.org/x/text", "ecosystem": "Go"},
	"ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}, {"fixed": "0.3.3"}]}],
	"ecosystem_specific": {"imports": [{"path": "golang.org/x/text/encoding/unicode", "symbols": ["utf16Decoder.Transform"]}]}
}]}`
	invented = `{"schema_version": "1.3.1", "id": "GO-0000-0001", "modified": "2020-01-01T00:00:00Z", "affected": [{
	"package": {"name": "github.com/tidwall/gjson", "ecosystem": "Go"},
	"ranges": [{"type": "SEMVER", "events": [{"introduced": "0"}]}],
	"ecosystem_specific": {"imports": [{"path": "github.com/tidwall/gjson", "symbols": ["FUNCTION"]}]}
}], "database_specific": {"url": "about:blank"}}`
)

// database writes a vulnerability database in which FUNCTION of gjson is vulnerable.
func database(t *testing.T, function string) string {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"index/db.json":        `{"modified": "2020-01-01T00:00:00Z"}`,
		"index/modules.json":   modules,
		"ID/GO-2020-0015.json": known,
		"ID/GO-0000-0001.json": strings.ReplaceAll(invented, "FUNCTION", function),
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "file://" + dir
}

// The check for vulnerabilities fails if the code calls a vulnerable function, or
// if a database given by name is missing or empty. If the public database cannot be
// reached, it says that nothing was checked. It never passes silently.
func TestVulnerabilities(t *testing.T) {
	if effort.Brief() {
		t.Skip("builds govulncheck: SOTTO_EFFORT=1 runs it")
	}
	broken := httptest.NewServer(http.NotFoundHandler())
	defer broken.Close()
	const unchecked = "vulnerabilities: not checked: the vulnerability database cannot be reached\n"
	for _, test := range []struct {
		name, env string
		status    int
		want      string
	}{
		{"a function that is called", "GOVULNDB=" + database(t, "ParseBytes"), 3, "calls gjson.ParseBytes"},
		{"a function that is not called", "GOVULNDB=" + database(t, "ForEachLine"), 0, "Your code is affected by 0 vulnerabilities"},
		{"an empty folder", "GOVULNDB=file://" + t.TempDir(), 1, "is empty or not whole"},
		{"no folder", "GOVULNDB=file://" + filepath.Join(t.TempDir(), "none"), 1, "cannot be read"},
		{"a server without a database", "GOVULNDB=" + broken.URL, 1, "cannot be read"},
		{"no way to the public database", "HTTPS_PROXY=http://127.0.0.1:1", 0, unchecked},
	} {
		t.Run(test.name, func(t *testing.T) {
			// One small package, so that little code is analysed.
			cmd := exec.CommandContext(t.Context(), "../../../.ci/vulnerabilities", "./internal/data/foreignjson")
			cmd.Env = append(os.Environ(), "GOVULNDB=", test.env)
			out, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if status := cmd.ProcessState.ExitCode(); status != test.status {
				t.Errorf("exit status %d, want %d", status, test.status)
			}
			if !strings.Contains(string(out), test.want) {
				t.Errorf("no %q in the output", test.want)
			}
			if strings.Contains(string(out), "not checked") != (test.want == unchecked) {
				t.Error("wrong about whether the database was reached")
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}
