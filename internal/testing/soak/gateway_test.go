//go:build linux

package soak

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
	"github.com/sotto-llm/sotto/internal/net/owners"
)

// tokens are what the callers send. ops also reads the record.
var tokens = map[string]string{"alice": "alice-has-a-long-token", "bob": "bob-has-a-long-token-too", "ops": "the-token-of-the-operators"}

// A gateway is a process of sotto serve, with all that it needs.
type gateway struct {
	t          *testing.T
	program    string
	dir        string // has the configuration, data, record and log
	upstream   string
	guard      string
	authority  *certificatestest.Authority
	serial     string // of the certificate in the file
	cmd        *exec.Cmd
	url        string
	console    string
	debug      string
	http       *http.Client // for what is not load
	reloads    int
	renewals   int
	unexpected []string // of the log
	lines      int
}

// configure writes the settings. What changes from one time to the next is a route and a
// display; a faulty file is refused.
func (g *gateway) configure(faulty bool) {
	display := []string{"field", "hide"}[g.reloads%2]
	text := fmt.Sprintf(`listen: 127.0.0.1:0
upstream: %s
data: data
tls-cert: cert.pem
tls-key: key.pem
console: true
console-listen: 127.0.0.1:0
debug-listen: 127.0.0.1:0
log-format: json
record: record
record-policy: batch
record-headers: [X-Load]
record-signing-key: signing.pem
record-keep-size: 64MiB
record-ship: s3://records/soak
a2a: true
a2a-model: plain
allow-hosts: ["*"]
tokens:
  alice: {token-file: alice.token, scopes: [models, agent]}
  bob: {token-file: bob.token, scopes: [models, agent]}
  ops: {token-file: ops.token, scopes: [models, operator, console, record]}
limits:
  body: 2MiB
  recorded: 1MiB
  restored: 256
  learned: 64
  conversations: 100
routes:
  - {name: guarded, models: [granite*], guard: %s}
  - {name: restored, models: [deepseek-v3.2*], history: restore}
  - {name: changing, models: [minimax*], display: %s}
  - {name: tags, apis: [ollama.chat], display: tags}
`, g.upstream, g.guard, display)
	if g.reloads%4 >= 2 {
		text += "  - {name: more, models: [magistral], narration: drop}\n"
	}
	if faulty {
		text += "  - {name: bad, models: [x], display: sideways}\n"
	}
	g.write("sotto.yaml", []byte(text))
}

func (g *gateway) write(name string, data []byte) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name+".new"), data, 0o600); err != nil {
		g.t.Error(err)
	}
	if err := os.Rename(filepath.Join(g.dir, name+".new"), filepath.Join(g.dir, name)); err != nil {
		g.t.Error(err)
	}
}

// renew replaces the certificate.
func (g *gateway) renew() {
	cert, key := g.authority.Server("gateway", time.Now().Add(720*time.Hour))
	block, _ := pem.Decode(cert)
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		g.t.Error(err)
		return
	}
	g.write("key.pem", key)
	g.write("cert.pem", cert)
	g.serial = parsed.SerialNumber.String()
	g.renewals++
}

// remembers fills the store of what callers made, as weeks would: a store that fills while the
// process is watched would look like a leak.
func (g *gateway) remembers() {
	if err := os.Mkdir(g.path("data"), 0o700); err != nil {
		g.t.Fatal(err)
	}
	s, err := owners.Open(g.path("data"), owners.Most, func(err error) { g.t.Error(err) })
	if err != nil {
		g.t.Fatal(err)
	}
	for _, kind := range []string{"responses", "items", "completions"} {
		for n := range owners.Most {
			s.Note(kind, fmt.Sprintf("%s-before-%d", kind, n), "alice")
		}
	}
	if err := s.Close(); err != nil {
		g.t.Fatal(err)
	}
}

// begin starts the process.
func begin(t *testing.T, program, upstream, guard string) *gateway {
	g := &gateway{t: t, program: program, dir: t.TempDir(), upstream: upstream, guard: guard, authority: certificatestest.NewAuthority(t, "soak")}
	store := objectstest.Start(t, "records")
	g.renew()
	g.renewals = 0
	g.configure(false)
	for name, token := range tokens {
		g.write(name+".token", []byte(token))
	}
	public, err := exec.Command(program, "record", "keygen", g.path("signing.pem")).Output()
	if err != nil {
		t.Fatal(err)
	}
	g.write("signing.pub", public)
	g.remembers()
	log, err := os.OpenFile(g.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	g.cmd = exec.Command(program, "serve", "--config", g.path("sotto.yaml"))
	g.cmd.Stderr = log
	g.cmd.Env = append(os.Environ(), store.Environ()...)
	if err := g.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.cmd.Process.Kill() })
	g.http = &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: g.authority.Pool()}}}
	g.addresses()
	return g
}

func (g *gateway) path(name string) string { return filepath.Join(g.dir, name) }

// addresses waits until the log has where the process serves.
func (g *gateway) addresses() {
	for until := time.Now().Add(time.Minute); g.url == ""; time.Sleep(10 * time.Millisecond) {
		data, err := os.ReadFile(g.path("log"))
		if err != nil || time.Now().After(until) || g.cmd.ProcessState != nil {
			g.t.Fatalf("the gateway does not serve: %v\n%s", err, data)
		}
		for line := range bytes.Lines(data) {
			var said struct{ Msg, At string }
			_ = json.Unmarshal(line, &said)
			switch at := strings.TrimSuffix(said.At, "/"); said.Msg {
			case "the gateway is up":
				g.url = at
			case "the console is up":
				g.console = at
			case "the debug server is up":
				g.debug = at
			}
		}
	}
}

// fetch asks one of the addresses as the operators do.
func (g *gateway) fetch(url string) (string, error) {
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+tokens["ops"])
	resp, err := g.http.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.200q", url, resp.Status, data)
	}
	return string(data), err
}

// metric sums a metric over its labels.
func (g *gateway) metric(text, name string) (sum float64) {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && (key == name || strings.HasPrefix(key, name+"{")) {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				g.t.Error(err)
			}
			sum += n
		}
	}
	return sum
}

// reload changes the settings: four times to good ones, by the file alone or with a SIGHUP, then
// to a faulty file.
func (g *gateway) reload() {
	g.reloads++
	g.configure(g.reloads%5 == 0)
	if g.reloads%2 == 0 {
		_ = g.cmd.Process.Signal(syscall.SIGHUP)
	}
}

// expected are the messages of the log that the load gives rise to at a level above info.
var expected = []string{
	"exchange", "refused", "the guard did not judge a piece of a reply",
	"the settings are not reloaded: those in use stay", "a fault in the settings",
	"the TLS certificate stays as it is: the new files are wrong", // it looked when one of the two files was new
}

// rotate reads the log, and empties it, as logrotate does with copytruncate. What is
// written between the two is lost.
func (g *gateway) rotate() {
	data, err := os.ReadFile(g.path("log"))
	if err != nil {
		g.t.Error(err)
		return
	}
	if err := os.Truncate(g.path("log"), 0); err != nil {
		g.t.Error(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		g.lines++
		var said struct{ Level, Msg string }
		err := json.Unmarshal(lines.Bytes(), &said)
		fine := err == nil && (said.Level == "INFO" || said.Level != "DEBUG" && slices.Contains(expected, said.Msg))
		if !fine && len(g.unexpected) < 100 {
			g.unexpected = append(g.unexpected, lines.Text())
		}
	}
}

// run runs a command of the program.
func (g *gateway) run(args ...string) (string, error) {
	cmd := exec.Command(g.program, args...)
	cmd.Dir = g.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("sotto %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}
