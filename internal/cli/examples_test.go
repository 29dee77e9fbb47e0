package cli

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/check/scripted"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// exampleFolder is the folder of the examples.
const exampleFolder = "../../examples"

// TestExamples: --check accepts each configuration of the examples. A file that no check
// knows fails, so that none is forgotten. Addresses of a model server are those of a
// scripted one.
func TestExamples(t *testing.T) {
	upstream := httptest.NewServer(scripted.New(scripted.Options{}))
	defer upstream.Close()
	dir := t.TempDir()
	var files []string
	if err := filepath.WalkDir(exampleFolder, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, _ := filepath.Rel(exampleFolder, name)
		files = append(files, filepath.ToSlash(below))
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, below)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		return os.WriteFile(to, []byte(strings.ReplaceAll(string(text), "http://127.0.0.1:11434", upstream.URL)), 0o600)
	}); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(exampleFolder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"SOTTO_TOKEN": strings.Repeat("t", 40), "XDG_STATE_HOME": t.TempDir()}
	gateways := 0
	for _, file := range files {
		name := filepath.Join(dir, filepath.FromSlash(file))
		folder, base := filepath.Split(file)
		if !strings.Contains(string(readme), "("+file+")") && !strings.HasPrefix(folder, "compose") && !strings.HasPrefix(folder, "deploy") && !strings.HasSuffix(file, "_test.go") && base != "README.md" {
			t.Errorf("README.md does not list %s", file)
		}
		var args []string
		switch {
		case strings.HasPrefix(folder, "deploy"): // interop/deploy tests them
			continue
		case folder == "batch/": // TestBatchExamples
			continue
		case folder == "guard/": // its own test
			continue
		case folder == "gateway/" || file == "compose/sotto.yaml":
			gateways++
			args = []string{"serve", "--config", name, "--check"}
		case file == "agent/agent.yaml":
			args = []string{"serve", "--agent", name, "--upstream", upstream.URL, "--check"}
		case file == "studies/policies.yaml", file == "studies/tokens.yaml":
			args = []string{"study", name, "--check"}
		case file == "panel/raters.yaml":
			args = []string{"panel", "--rubric", filepath.Join(dir, "panel", "inventory.yaml"), "--raters", name, "--record", filepath.Join(dir, "rated"), filepath.Join(dir, "panel", "replies.jsonl")}
		case folder == "panel/": // of the panel above
			continue
		case file == "agent/experiment.yaml", file == "studies/policies/experiment.yaml":
			args = []string{"run", "--config", name, "--check"}
		case file == "studies/modes.yaml":
			args = []string{"study", name, "--dry-run"}
		case slices.Contains([]string{"README.md", "compose/compose.yaml", "compose/Dockerfile", "studies/game24.yaml", "studies/policies/script.yaml", "studies/report.ipynb", "systemd/sotto.service", "systemd/sotto.socket"}, file):
			continue
		default:
			t.Errorf("no test knows %s", file)
			continue
		}
		status, out, errs := runWith(env, args...)
		if status != 0 {
			t.Errorf("%s: status %d\n%s%s", file, status, out, errs)
		}
		if folder == "panel/" && !strings.Contains(out, "48 ratings of 12 texts (12 replies) by 2 raters, each 2 times: 48 rated, 0 failed, 0 missing") {
			t.Errorf("%s: not all ratings are there:\n%s", file, out)
		}
	}
	if gateways != 7 {
		t.Errorf("%d configurations of gateways: %q", gateways, files)
	}
}

// TestBatchExamples: the scripts are ones that bash and Python can read, and the command
// in each has flags that sotto knows. .ci/long runs two of them.
func TestBatchExamples(t *testing.T) {
	for file, check := range map[string][]string{
		"slurm.sh": {"bash", "-n"}, "parallel.sh": {"bash", "-n"},
		"ray_shards.py": {"python3", "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())"},
		"spark_pipe.py": {"python3", "-c", "import ast, sys; ast.parse(open(sys.argv[1]).read())"},
	} {
		name := filepath.Join(exampleFolder, "batch", file)
		if _, err := exec.LookPath(check[0]); err != nil {
			t.Logf("%s is not checked: %v", file, err)
		} else if out, err := exec.Command(check[0], append(check[1:], name)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", file, err, out)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range []string{"--task", "--jsonl", "--k", "--shard", "--output"} {
			if !strings.Contains(string(text), flag) {
				t.Errorf("%s has no %s", file, flag)
			}
		}
	}
	dir := t.TempDir() // those flags
	if status, _, errs := runWith(nil, "score", "--task", "math", "--jsonl", "--k", "--group-field", "id", "--shard", "0/400", "--output", filepath.Join(dir, "out"), writeFile(t, "in.jsonl", `{"id":1,"gold":"4","raw":"4"}`)); status != 0 {
		t.Error(errs)
	}
}

// TestComposeExample: the compose file has only keys that compose knows, and what its
// services name is in it or beside it. Nothing but the gateway and the page is published,
// and only on this machine.
func TestComposeExample(t *testing.T) {
	// The keys of compose.yaml, by the path of the mapping that they are in; * is any name.
	keys := map[string][]string{
		"":                       {"name", "services", "networks", "volumes"},
		"services.*":             {"image", "build", "command", "restart", "read_only", "environment", "volumes", "ports", "networks", "depends_on"},
		"services.*.build":       {"context", "dockerfile"},
		"services.*.environment": nil, // any
		"services":               nil,
		"networks":               nil,
		"volumes":                nil,
		"networks.*":             {},
		"volumes.*":              {},
	}
	data, err := os.ReadFile(filepath.Join(exampleFolder, "compose", "compose.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	top, err := yamlfile.Read(data)
	if err != nil {
		t.Fatal(err)
	}
	var walk func(n *yamlfile.Node, path string)
	walk = func(n *yamlfile.Node, path string) {
		known, ok := keys[path]
		if !ok {
			t.Errorf("no mapping is known at %q", path)
		}
		for _, m := range n.Members {
			if known != nil && !slices.Contains(known, m.Key.Text) {
				t.Errorf("%q: no key is called %s", path, m.Key.Text)
			}
			if m.Value.Kind == yamlfile.Mapping {
				name := m.Key.Text
				if known == nil {
					name = "*"
				}
				walk(m.Value, strings.TrimPrefix(path+"."+name, "."))
			}
		}
	}
	walk(top, "")
	at := func(n *yamlfile.Node, keys ...string) *yamlfile.Node {
		for _, key := range keys {
			i := slices.IndexFunc(n.Members, func(m yamlfile.Member) bool { return m.Key.Text == key })
			if i < 0 {
				return &yamlfile.Node{}
			}
			n = n.Members[i].Value
		}
		return n
	}
	services := at(top, "services")
	for _, s := range services.Members {
		for _, of := range []struct{ key, in string }{{"networks", "networks"}, {"depends_on", "services"}} {
			for _, item := range at(s.Value, of.key).Items {
				if at(top, of.in, item.Text).Kind != yamlfile.Mapping {
					t.Errorf("%s: there is no %s in %s", s.Key.Text, item.Text, of.in)
				}
			}
		}
		for _, item := range at(s.Value, "volumes").Items {
			from, _, _ := strings.Cut(item.Text, ":")
			_, err := os.Stat(filepath.Join(exampleFolder, "compose", from))
			if strings.HasPrefix(from, ".") && err != nil || !strings.HasPrefix(from, ".") && at(top, "volumes", from).Kind != yamlfile.Mapping {
				t.Errorf("%s: there is no %s", s.Key.Text, from)
			}
		}
		for _, item := range at(s.Value, "ports").Items {
			if !strings.HasPrefix(item.Text, "127.0.0.1:") || s.Key.Text == "ollama" {
				t.Errorf("%s is published at %s", s.Key.Text, item.Text)
			}
		}
	}
	build := at(services, "sotto", "build")
	if _, err := os.Stat(filepath.Join(exampleFolder, "compose", at(build, "context").Text, at(build, "dockerfile").Text)); err != nil || len(services.Members) != 3 {
		t.Errorf("%v, %d services", err, len(services.Members))
	}
}

// TestSystemdExample: systemd accepts the units.
func TestSystemdExample(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no systemd-analyze")
	}
	program, err := os.Executable() // systemd looks for the file
	if err != nil {
		t.Fatal(err)
	}
	args, dir := []string{"verify"}, t.TempDir()
	for _, unit := range []string{"sotto.service", "sotto.socket"} {
		text, err := os.ReadFile(filepath.Join(exampleFolder, "systemd", unit))
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, unit)
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(string(text), "=sotto serve", "="+program+" serve")), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	if out, err := exec.Command(analyze, args...).CombinedOutput(); err != nil || strings.Contains(string(out), "sotto.s") {
		t.Errorf("%v\n%s", err, out)
	}
}
