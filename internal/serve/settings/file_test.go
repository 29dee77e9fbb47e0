package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/data/yamlfile"
)

// readText reads a configuration and returns its faults, one per line.
func readText(text string) (*Settings, string) {
	s := new(Settings)
	s.defaults(func(string) string { return "" })
	r := newConfigReader("f", s)
	r.parse([]byte(text))
	var faults []string
	for _, f := range r.faults() {
		faults = append(faults, f.Error())
	}
	return s, strings.Join(faults, "\n")
}

// TestConfigFaults: every fault is reported with the line, the column and the path
// of its key.
func TestConfigFaults(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"# nothing\n", ""},
		{"v: 1\r\nlisten: 127.0.0.1:80\r\n", ""},
		{"\ufefflisten: 127.0.0.1:80\n", ""},
		{"---\nlisten: 127.0.0.1:80\n", ""},

		{"- a\n", "f:1:1: want a mapping, not a list"},
		{"listen\n", `f:1:1: want a mapping, not "listen"`},
		{"listen: [a\n", "f:1:9: not valid YAML: did not find expected ',' or ']'"},
		{"a: b: c\n", "f:1:5: not valid YAML: mapping values are not allowed in this context"},
		{"display: hide\n---\ndisplay: keep\n", "f:3:1: a second document begins here: want only one"},
		{"v: 2\n", "f:1:4: v: want 1, the only version there is"},
		{"v: '1'\n", "f:1:4: v: want 1, the only version there is"},

		{"displai: hide\n", `f:1:1: displai: unknown key: did you mean "display"?`},
		{"token_file: x\n", `f:1:1: token_file: unknown key: did you mean "token-file"?`},
		{"reasoning: x\n", `f:1:1: reasoning: unknown key: did you mean "reasoning-field"?`},
		{"allow-origin: []\n", `f:1:1: allow-origin: unknown key: did you mean "allow-origins"?`},
		{"limits: {nonsense: 1}\n", "f:1:10: limits.nonsense: unknown key"},
		{"limits:\n  frames: 1\n", `f:2:3: limits.frames: unknown key: did you mean "frame"?`},
		{"token: s3cret\n", "f:1:1: token: this file may not hold secrets: use token-file, or SOTTO_TOKEN"},
		{"upstream_key: s3cret\n", "f:1:1: upstream_key: this file may not hold secrets: use upstream-key-file, or SOTTO_UPSTREAM_KEY"},

		{"display: hide\ndisplay: keep\n", "f:2:1: display: appears twice, first in line 1"},
		{"limits: {body: 1, body: 2}\n", "f:1:19: limits.body: appears twice, first in line 1"},
		{"display:\n", "f:1:1: display: has no value: give one, or leave the key out"},
		{"display: ~\n", "f:1:1: display: has no value: give one, or leave the key out"},
		{"limits:\nroutes:\n", "f:1:1: limits: has no value: give one, or leave the key out\nf:2:1: routes: has no value: give one, or leave the key out"},
		{"display: ''\n", "f:1:10: display: is empty"},
		{"display: &a hide\nhistory: *a\n", "f:1:10: display: want field, hide, keep or tags, not an anchor, which is not supported\nf:2:10: history: want auto, preserve, strip, strip-all or restore, not an alias, which is not supported"},
		{"display: !!str hide\n", "f:1:10: display: want field, hide, keep or tags, not a tag, which is not supported"},
		{"? display\n: hide\n", ""},

		{"listen: 8383\n", "f:1:9: listen: want an address such as 127.0.0.1:8383, not 8383"},
		{"listen: localhost\n", `f:1:9: listen: "localhost": want HOST:PORT, such as 127.0.0.1:8383`},
		{"listen: localhost:99999\n", `f:1:9: listen: "localhost:99999": want HOST:PORT, such as 127.0.0.1:8383`},
		{"upstream: localhost:11434\n", `f:1:11: upstream: "localhost:11434": want a URL such as http://localhost:11434`},
		{"upstream: http://\n", `f:1:11: upstream: "http://": want a URL such as http://localhost:11434`},
		{"upstream: http://a/?key=s3cret\n", "f:1:11: upstream: a base URL has no query and no fragment"},
		{"shared_secret: s3cret\n", "f:1:1: shared_secret: this file may not hold secrets: use shared-secret-file, or SOTTO_SHARED_SECRET"},
		{"shared: redis://:s3cret@a\n", "f:1:9: shared: the URL holds a password: give it with shared-password-file or SOTTO_SHARED_PASSWORD"},
		{"upstream: http://u:s3c/ret@a/\n", "f:1:11: upstream: the URL holds a user name or password: give the key with upstream-key-file or SOTTO_UPSTREAM_KEY"},
		{"insecure-public: yes\n", `f:1:18: insecure-public: want true or false, not "yes"`},
		{"pass-all: 1\n", "f:1:11: pass-all: want true or false, not 1"},
		{"display: true\n", "f:1:10: display: want field, hide, keep or tags, not true"},
		{"display: [hide]\n", "f:1:10: display: want field, hide, keep or tags, not a list"},
		{"display: {hide: 1}\n", "f:1:10: display: want field, hide, keep or tags, not a mapping"},
		{"allow-origins: https://a\n", `f:1:16: allow-origins: want a list of origins such as https://chat.example, not "https://a"`},
		{"allow-origins:\n  - https://a\n  - https://a/b\n  - 7\n", "f:3:5: allow-origins[1]: \"https://a/b\": want an origin such as https://chat.example, without a path, or * or null\nf:4:5: allow-origins[2]: want text, not 7"},
		{"keep-alive: 10\n", "f:1:13: keep-alive: want a duration such as 30s, 10m or 6h, not 10"},
		{"keep-alive: 10 s\n", `f:1:13: keep-alive: "10 s": want a duration such as 30s, 10m or 6h`},
		{"keep-alive: 0s\n", `f:1:13: keep-alive: "0s": want more than 0`},
		{"shutdown-delay: 0s\n", ""},
		{"shutdown-delay: -1s\n", `f:1:17: shutdown-delay: "-1s": want 0 or more`},
		{"log-format: xml\n", `f:1:13: log-format: "xml": want text or json`},
		{"otel-endpoint: localhost:4318\n", `f:1:16: otel-endpoint: "localhost:4318": want a URL such as http://localhost:4318`},
		{"otel-endpoint: http://u:s3cret@c\n", "f:1:16: otel-endpoint: the URL holds a user name or password: give the key with OTEL_EXPORTER_OTLP_HEADERS"},
		{"log-level: loud\n", `f:1:12: log-level: "loud": want debug, info, warn or error`},
		{"debug-listen: 0.0.0.0:6060\n", `f:1:15: debug-listen: "0.0.0.0:6060": other machines could reach this address: want one of loopback, such as 127.0.0.1:6060 or [::1]:6060`},
		{"debug-listen: ':6060'\n", `f:1:15: debug-listen: ":6060": other machines could reach this address: want one of loopback, such as 127.0.0.1:6060 or [::1]:6060`},
		{"debug-listen: debug.example:6060\n", `f:1:15: debug-listen: "debug.example:6060": other machines could reach this address: want one of loopback, such as 127.0.0.1:6060 or [::1]:6060`},
		{"debug-listen: 127.0.0.1\n", `f:1:15: debug-listen: "127.0.0.1": want HOST:PORT, such as 127.0.0.1:8383`},
		{"limits: 7\n", "f:1:9: limits: want a mapping, not 7"},
		{"limits:\n  body: 64XB\n  frame: -1\n  hold: 0\n  exchanges: 1.5\n  choices: '3'\n", "f:2:9: limits.body: \"64XB\": want bytes, or a size such as 64MiB\nf:3:10: limits.frame: \"-1\": want 1 or more\nf:4:9: limits.hold: \"0\": want 1 or more\nf:5:14: limits.exchanges: want a whole number, not 1.5\nf:6:12: limits.choices: want a whole number, not \"3\""},
		{"limits:\n  body: 99999999999GiB\n  learned: 99999999999999999999\n", "f:2:9: limits.body: \"99999999999GiB\" is too large\nf:3:12: limits.learned: want a whole number, not 99999999999999999999"},
		{"tokens: []\n", "f:1:9: tokens: want the names of callers, each with token-file or token-env, and with scopes"},
		{"tokens: s3cret\n", "f:1:9: tokens: want the names of callers, each with token-file or token-env, and with scopes"},
		{"tokens: {alice: s3cret}\n", "f:1:17: tokens.alice: a secret does not stand in this file: want token-file or token-env, and scopes"},
		{"tokens: {alice: {token: s3cret}}\n", "f:1:18: tokens.alice.token: this file may not hold secrets: use token-file or token-env"},
		{"tokens: {alice: {scope: [models]}}\n", `f:1:18: tokens.alice.scope: unknown key: did you mean "scopes"?`},
		{"tokens: {alice: {scopes: models}}\n", `f:1:26: tokens.alice.scopes: want a list of models, operator, record, console, agent, metrics, debug or consent, not "models"`},
		{"tokens: {alice: {scopes: [models, recrod]}}\n", `f:1:35: tokens.alice.scopes[1]: unknown scope "recrod": did you mean "record"?`},
		{"routes: {}\n", "f:1:9: routes: want a list, not a mapping"},
		{"routes:\n  - 7\n  - models: qwen3\n  - models: [a, '']\n    displai: hide\n", "f:2:5: routes[0]: want a mapping, not 7\nf:3:13: routes[1].models: want a list of models' names, * for any run of characters, not \"qwen3\"\nf:4:17: routes[2].models[1]: is empty\nf:5:5: routes[2].displai: unknown key: did you mean \"display\"?"},
	} {
		if _, got := readText(tt.text); got != tt.want {
			t.Errorf("%q:\n%s\nwant:\n%s", tt.text, got, tt.want)
		}
		if _, got := readText(tt.text); strings.Contains(got, "s3c") {
			t.Errorf("%q: the secret is repeated: %s", tt.text, got)
		}
	}
}

const wholeConfig = `v: 1
listen: 0.0.0.0:8383
upstream: https://models.example/base
upstream-api: chat
upstream-key-file: /run/secrets/key
upstream-header-timeout: 2m
upstream-retries: 1
ask-upstream: never
token-file: /run/secrets/token
access: closed
insecure-public: true
tls-cert: /etc/sotto/cert.pem
tls-key: /run/secrets/cert-key
tls-client-ca: /etc/sotto/clients.pem
acme-accept-terms: false
acme-directory: https://acme-v02.api.letsencrypt.org/directory
pass-all: true
allow-origins:
  - https://chat.example
  - "*"
data: /var/lib/sotto
takeover: true
record: /var/lib/sotto/record
record-policy: batch
record-reasoning: digest
record-answer: redacted
record-patterns: /etc/sotto/patterns
record-digest-key: /run/secrets/digest
record-signing-key: /run/secrets/signing
record-recipients:
  - age1example
  - /etc/sotto/recipients
record-keep: 90d
record-keep-size: 50GiB
console: true
console-listen: 127.0.0.1:8395
dialect: qwen3
start: inside:think
display: hide
reasoning-field:
  - reasoning
  - reasoning_content
narration: drop
history: strip
on-no-answer: error
thinking-limit: 64KiB
on-thinking-limit: report
on-thinking-loop: stop
thinking-switch: native
responses-reasoning: summary
thinking-signature: empty
calls: field
guard: https://guard.example/judge
guard-token-file: /run/secrets/guard
guard-sees:
  - answer
guard-every: 2KiB
guard-wait: 2s
guard-timeout: 1m30s
guard-on-failure: open
exact: always
history-dry-run: true
agents:
  - /etc/sotto/boss.yaml
a2a: true
a2a-model: qwen3:8b
a2a-api: ollama
a2a-system: Be brief.
a2a-agent: /etc/sotto/agent.yaml
a2a-name: Counter
a2a-url: https://agent.example
a2a-reasoning: true
a2a-push-to:
  - 10.1.0.0/16
dialect-files:
  - /etc/sotto/mine.json
keep-alive: 5s
silence: 1h30m
ready-upstream: true
shutdown-delay: 5s
shutdown-wait: 1m
log-format: json
log-level: warn
otel-endpoint: https://otel.example
otel-content: true
debug-listen: '[::1]:6060'
tokens:
  alice:
    token-file: alice.token
    scopes:
      - models
      - agent
  bob:
    token-env: BOB_TOKEN
upstreams:
  big:
    url: https://models.example/v1
    api: messages
    key-file: big.key
    silence: 5m
    header-timeout: 1m30s
    retries: 2
  local:
    url: http://localhost:11434
    key-env: LOCAL_KEY
    retries: 0
limits:
  memory: 2GiB
  connections: 300
  connections-per-address: 30
  body: 1GiB
  frame: 1MiB
  header: 1000
  exchanges: 1
  choices: 2
  hold: 1KiB
  learned: 3
  restored: 4
  restored-bytes: 5MiB
  restored-for: 1h
  recorded: 1MiB
  labels: 6
  conversations: 5
  conversations-bytes: 4MiB
  conversation: 1MiB
  conversations-for: 2h
routes:
  - name: small-models
    models:
      - "*qwen3*"
      - "true"
    apis:
      - ollama.chat
    upstream: big
    dialect: default
    start: auto
    display: keep
    reasoning-field:
      - "null"
    narration: text
    history: auto
    on-no-answer: promote
    thinking-limit: 1KiB
    on-thinking-limit: ignore
    on-thinking-loop: report
    thinking-switch: adaptive
    responses-reasoning: content
    thinking-signature: sotto
    calls: text
    guard: http://localhost:9000
    guard-token-file: route.token
    guard-sees:
      - reasoning
      - answer
    guard-every: whole
    guard-wait: 1s
    guard-timeout: 5s
    guard-on-failure: closed
  - models:
      - granite*
    guard: off
`

// TestConfigWhole: --check prints the settings as a configuration file with the
// same meaning.
func TestConfigWhole(t *testing.T) {
	s, faults := readText(wholeConfig)
	if faults != "" {
		t.Fatal(faults)
	}
	again, faults := readText(string(s.YAML()))
	if faults != "" {
		t.Fatalf("what is printed has faults: %s\n%s", faults, s.YAML())
	}
	if want := string(s.YAML()); string(again.YAML()) != want {
		t.Errorf("printed, read and printed:\n%s\nwant:\n%s", again.YAML(), want)
	}
	plain := strings.NewReplacer(`"`, "", "'", "")
	if got, want := plain.Replace(withoutDefaults(t, s, wholeConfig)), plain.Replace(wholeConfig); got != want {
		t.Errorf("printed:\n%s\nwant:\n%s", got, want)
	}
	if got := s.Gateway.Limits.Body; got != 1<<30 {
		t.Errorf("limits.body: %d", got)
	}
	short, faults := readText("reasoning-field: reasoning, thinking\nlimits: {body: 0x10, frame: 2_000, hold: 3 kB}\nroutes: [{}]\n")
	if faults != "" || !slices.Equal(short.Gateway.Default.ReasoningFields, []string{"reasoning", "thinking"}) {
		t.Errorf("fields %q, faults %s", short.Gateway.Default.ReasoningFields, faults)
	}
	if l := short.Gateway.Limits; l.Body != 16 || l.Frame != 2000 || l.Hold != 3000 {
		t.Errorf("limits: %+v", l)
	}
}

// withoutDefaults prints settings without the values that a configuration does not have.
func withoutDefaults(t *testing.T, s *Settings, config string) string {
	t.Helper()
	var document yamlfile.Document
	root := document.Read([]byte(config))
	if root == nil {
		t.Fatal(document.Err())
	}
	var keep func(n, said *yamlfile.Node)
	keep = func(n, said *yamlfile.Node) {
		n.Members = slices.DeleteFunc(n.Members, func(m yamlfile.Member) bool { return member(said, m.Key.Text) == nil })
		for _, m := range n.Members {
			keep(m.Value, member(said, m.Key.Text))
		}
		for i := range n.Items {
			keep(n.Items[i], said.Items[i])
		}
	}
	tree := s.tree()
	keep(tree, root)
	text, err := yamlfile.Write(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestConfigPaths: paths are relative to the folder of the file.
func TestConfigPaths(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "sotto.yaml")
	if err := os.WriteFile(name, []byte("token-file: secrets/token\ndata: /var/lib/sotto\ndialect-files: [mine.json]\nrecord: audit\nrecord-recipients: [age1abc, to]\na2a-agent: agent.yaml\nacme-ca: ca.pem\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := new(Settings)
	if _, err := s.readConfig(name); err != nil {
		t.Fatal(err)
	}
	got := []string{s.token.secret.file, s.Gateway.Data, s.dialectFiles[0], s.Recording.Record, s.Recording.RecordRecipient[0], s.Recording.RecordRecipient[1], s.A2A.Agent, s.ACME.CA}
	want := []string{filepath.Join(dir, "secrets", "token"), "/var/lib/sotto", filepath.Join(dir, "mine.json"), filepath.Join(dir, "audit"), "age1abc", filepath.Join(dir, "to"), filepath.Join(dir, "agent.yaml"), filepath.Join(dir, "ca.pem")}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestShortDuration(t *testing.T) {
	for _, text := range []string{"10s", "10m", "6h", "1h30m", "1h0m5s", "1m30s", "1.5s", "100ms"} {
		s := new(Settings)
		k, _ := find(s.keys(), "silence")
		if err := k.set(text); err != nil || k.get() != text {
			t.Errorf("%s: %v, %v", text, k.get(), err)
		}
	}
}

// FuzzConfig: no text breaks the reader. Settings that it accepts can be printed
// and read again.
func FuzzConfig(f *testing.F) {
	f.Add(wholeConfig)
	f.Add("routes: [{models: [a]}]\nlimits: {body: 1}\n? x\n: &a *a\n<<: !!str |\n  x\n")
	f.Add("a: 'é'\n\t\"\\u00e9\": >-\n  # x\n- {a, b: [c, d: e]}\n--- %TAG\n...")
	f.Fuzz(func(t *testing.T, text string) {
		s, faults := readText(text)
		if faults != "" {
			return
		}
		again, faults := readText(string(s.YAML()))
		if faults != "" || string(again.YAML()) != string(s.YAML()) {
			t.Fatalf("printed and read: %s\n%s\n%s", faults, s.YAML(), again.YAML())
		}
	})
}

// A file that is nested without end, or full of mistakes, has few faults. Reading
// it costs no more than its size explains.
func TestHostileConfig(t *testing.T) {
	var keys strings.Builder
	for i := 0; keys.Len() < 490_000; i++ {
		fmt.Fprintf(&keys, "k%d: 1\n", i)
	}
	for _, tt := range []struct{ text, want string }{
		{strings.Repeat("[", 200_000), "f:1:101: lists and mappings nest deeper than 100 levels"},
		{"limits:\n  body: " + strings.Repeat("{a: ", 50_000), "f:2:409: lists and mappings nest deeper than 100 levels"},
		{keys.String(), "f: more than 100000 keys and values"},
		{keys.String()[:400_000], "f:101:1: too many faults: the rest is not listed"},
		{strings.Repeat("x", 900_000) + ": 1\n", "x…: unknown key"},
		{"allow-origins: [" + strings.Repeat("a,", 45_000) + "]\n", "too many faults"},
		{strings.Repeat("- ", 1<<20), "f: larger than 1 MiB"},
	} {
		got := ""
		n := allocations(func() { _, got = readText(tt.text) })
		if !strings.Contains(got, tt.want) || strings.Count(got, "\n") > 100 || n > 400<<20 {
			t.Errorf("%.30q: %d MB, %d faults: %.300s", tt.text, n>>20, 1+strings.Count(got, "\n"), got)
		}
	}
}

// allocations returns how many bytes a function allocates.
func allocations(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
