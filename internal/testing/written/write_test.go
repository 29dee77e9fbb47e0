//go:build unix

package written

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/tidwall/gjson"
)

var (
	program = flag.String("program", "", "write samples with this sotto")
	to      = flag.String("to", "", "into this folder, which is made")
)

// A sample says what a reader needs to know besides the files.
type sample struct {
	Upstream string            `json:"upstream"` // where the model server was
	Second   string            `json:"second"`   // and another one
	Tokens   map[string]string `json:"tokens"`   // by caller, in clear text
	Task     string            `json:"task"`     // the task that is in a2a.db
	Talk     string            `json:"talk"`     // the conversation of the console
}

// sampleFiles are the files of a writer that people write.
var sampleFiles = map[string]string{
	"gateway/sotto.yaml":    "tokens:\n  alice: {token-file: alice.token}\n  bob: {token-file: bob.token, scopes: [models, agent]}\nhistory: restore\nagents: [agent.yaml]\n",
	"gateway/agent.yaml":    "v: 1\nname: clerk\nstart: outside\nmodel: {provider: scripted, script: script.yaml}\nmemory: [write]\n",
	"gateway/script.yaml":   "- when: {step: 1, user: Remember}\n  text: <think>" + thought + "</think>\n  calls: [{name: write, arguments: {key: colour, value: green}}]\n- text: <think>" + thought + "</think>" + said + "\n",
	"study.yaml":            "v: 1\nname: samples\nbase: {run: base.yaml, set: {cycles: 2}}\ngrid: {model.name: [brief, wordy]}\nrepetitions: 2\n",
	"base.yaml":             "v: 1\nname: base\ngoal: Plan a garden.\ncycles: 2\nmodel: {provider: scripted, name: brief, script: script.yaml}\n",
	"script.yaml":           "- text: <think>Light.</think>The balcony faces south.\n",
	"settings/plain.token":  "# the tokens of Alice\nalice-of-the-samples-0123456789\nalice-until-2126-0123456789abc expires=2126-01-31\n\nalice-until-noon-0123456789abcd expires=2126-01-31T12:00:00Z\n",
	"settings/agent.yaml":   "v: 1\nname: clerk\nstart: outside\nmodel: {provider: scripted, script: script.yaml}\n",
	"settings/script.yaml":  "- text: Yes.\n",
	"settings/upstream.key": "key-of-the-upstream-0123456789\n", "settings/second.key": "key-of-the-second-0123456789\n",
	"settings/guard.token": "token-of-the-guard-0123456789\n", "settings/shared.secret": sharedKey + "\n", "settings/shared.password": "password-of-the-samples\n",
	"settings/patterns.txt": "# names\n[A-Z]{3}-[0-9]{4}\n", "settings/digest.key": "a-key-of-digests-0123456789",
	"settings/sotto.yaml": settingsFile,
}

// TestWrite writes samples, if a program is given: see testdata/written/README.md.
func TestWrite(t *testing.T) {
	if *program == "" {
		t.Skip("no -program is given")
	}
	w := &writer{t: t, dir: *to, sample: sample{Tokens: map[string]string{}}}
	for name, text := range sampleFiles {
		write(t, text, w.dir, name)
	}
	_, upstream := speak(t, "first")
	_, second := speak(t, "second")
	w.sample.Upstream, w.sample.Second = upstream.URL, second.URL
	w.settings()
	w.gateway()
	w.sealedRecord()
	w.shared()
	w.command("solve", "--limit", "12", "--data", "data", "-o", "solved.jsonl", "-q")
	w.keep("memory.jsonl", w.command("solve", "memory", "export", "--memory", "data/memory-scripted.db"))
	w.command("study", "study.yaml", "-o", "study", "-q")
	w.keep("study.status.json", w.command("study", "status", "study", "--json"))
	w.keep("study.report.json", w.command("study", "report", "study", "--json"))
	data, err := json.MarshalIndent(w.sample, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	w.keep("sample.json", string(data)+"\n")
}

// A writer writes the samples of a program into a folder.
type writer struct {
	t      *testing.T
	dir    string
	sample sample
}

func (w *writer) command(args ...string) string {
	w.t.Helper()
	return run(w.t, *program, w.dir, args...)
}

func (w *writer) keep(name, text string) { write(w.t, text, w.dir, name) }

// settings writes the tokens, and what the program makes of the settings.
func (w *writer) settings() {
	for _, name := range []string{"alice", "bob"} {
		w.sample.Tokens[name] = strings.TrimSpace(w.command("token", "new", "--add", "gateway/"+name+".token", "--expires", "2126-01-31"))
	}
	w.command("token", "new", "--add", "settings/bob.token")
	w.keep("settings/hashed.token", w.command("token", "hash", "settings/plain.token"))
	w.keep("signing.pub", w.command("record", "keygen", "signing.pem"))
	w.keep("settings.want.yaml", run(w.t, *program, filepath.Join(w.dir, "settings"), "serve", "--config", "sotto.yaml", "--check"))
}

// gateway runs a gateway with a data folder and a record, and asks it for something of
// each kind.
func (w *writer) gateway() {
	t := w.t
	g := serve(t, *program, w.dir, "--config", "gateway/sotto.yaml", "--upstream", w.sample.Upstream, "--data", "data", "--record", "record",
		"--record-signing-key", "signing.pem", "--console", "--a2a", "--a2a-model", "qwen3")
	alice := w.sample.Tokens["alice"]
	for range 2 { // a start is learned from two replies
		must(t, g.base+"/v1/chat/completions", alice, chat("qwq", question))
		must(t, g.base+"/v1/chat/completions", alice, chat("qwen3", question))
	}
	w.converse(g.base)
	w.sample.Task = gjson.Get(must(t, g.base+"/a2a", alice, sendMessage), "result.task.id").Str
	begin := must(t, g.console+"/chat/send", alice, `{"id":"new","text":"`+question+`","model":"qwen3"}`)
	w.sample.Talk = gjson.Get(begin, "id").Str
	if w.sample.Task == "" || w.sample.Talk == "" {
		t.Fatal(w.sample, begin)
	}
	g.stop()
}

// converse has two turns with the agent.
func (w *writer) converse(base string) {
	for _, text := range []string{"Remember green.", question} {
		must(w.t, base+"/v1/chat/completions", w.sample.Tokens["alice"], chat("agent/clerk", text), "Sotto-Conversation", "colours")
	}
}

const sendMessage = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"1","role":"ROLE_USER","parts":[{"text":"` + question + `"}]}}}`

// sealedRecord writes a record that is encrypted.
func (w *writer) sealedRecord() {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		w.t.Fatal(err)
	}
	w.keep("identity.txt", "# an identity of the tests, for the record beside it\n"+identity.String()+"\n")
	g := serve(w.t, *program, w.dir, "--upstream", w.sample.Upstream, "--data", "none", "--record", "sealed",
		"--record-signing-key", "signing.pem", "--record-recipient", identity.Recipient().String())
	for range 3 {
		must(w.t, g.base+"/v1/chat/completions", "", chat("qwen3", question))
	}
	g.stop()
	w.remove("none")
}

func (w *writer) remove(name string) {
	if err := os.RemoveAll(filepath.Join(w.dir, name)); err != nil {
		w.t.Fatal(err)
	}
}

// shared writes what a replica leaves in Redis.
func (w *writer) shared() {
	address, c := redisServer(w.t)
	alice := w.sample.Tokens["alice"]
	routes := "upstreams: {second: {url: " + w.sample.Second + "}}\nroutes: [{models: [stored], upstream: second}]\n"
	w.keep("gateway/shared.yaml", sampleFiles["gateway/sotto.yaml"]+routes)
	g := serve(w.t, *program, w.dir, "--config", "gateway/shared.yaml", "--upstream", w.sample.Upstream, "--data", "none", "--shared", address, "--shared-secret-file", "settings/shared.secret")
	for range 2 {
		must(w.t, g.base+"/v1/chat/completions", alice, chat("qwq", question))
	}
	must(w.t, g.base+"/v1/chat/completions", alice, chat("qwen3", question))
	must(w.t, g.base+"/v1/responses", alice, `{"model":"stored","input":"`+question+`"}`)
	w.converse(g.base)
	g.stop()
	w.keep("redis.json", dump(w.t, c))
	w.remove("none")
}

// settingsFile has most keys, with values that are not the defaults.
const settingsFile = `v: 1
listen: 127.0.0.1:18383
upstream: http://localhost:11434/base
upstream-key-file: upstream.key
upstream-header-timeout: 40s
upstream-retries: 2
insecure-public: false
pass-all: true
path-prefix: /openai
allow-hosts: [chat.example]
allow-origins: [https://chat.example]
data: data
shared: rediss://cache.example:6379/2
shared-secret-file: shared.secret
shared-password-file: shared.password
record: audit
record-policy: batch
record-reasoning: digest
record-answer: redacted
record-id: digest
record-patterns: patterns.txt
record-digest-key: digest.key
record-signing-key: ../signing.pem
record-keep: 720h
record-keep-size: 2GiB
record-headers: [X-Session-Id]
console: true
console-listen: 127.0.0.1:18385
dialect: qwen3
start: auto
display: hide
reasoning-field: [reasoning, reasoning_content]
narration: field
history: restore
on-no-answer: error
thinking-limit: 4000
on-thinking-limit: report
on-thinking-loop: stop
thinking-switch: untouched
responses-reasoning: summary
thinking-signature: sotto
calls: text
guard: http://localhost:9000/judge
guard-token-file: guard.token
guard-sees: answer
guard-every: 1KiB
guard-wait: 2s
guard-timeout: 4s
guard-on-failure: open
history-dry-run: true
agents: [agent.yaml]
a2a: true
a2a-model: qwen3
a2a-api: ollama
a2a-system: Be brief.
a2a-name: Clerk
a2a-url: https://agent.example
a2a-reasoning: true
a2a-push-to: [10.1.0.0/16]
keep-alive: 20s
silence: 20m
ready-upstream: true
shutdown-delay: 5s
shutdown-wait: 40s
log-format: json
log-level: warn
otel-endpoint: http://localhost:4318
otel-content: true
debug-listen: 127.0.0.1:16060
tokens:
  alice: {token-file: plain.token, requests-per-minute: 60, tokens-per-minute: 1000, exchanges: 3}
  bob: {token-file: bob.token, scopes: [models, metrics]}
upstreams:
  second: {url: "http://localhost:9001", key-file: second.key, header-timeout: 9s, retries: 1, silence: 3m}
limits:
  memory: 1GiB
  connections: 500
  connections-per-address: 50
  body: 32MiB
  frame: 2MiB
  header: 32KiB
  exchanges: 900
  choices: 16
  hold: 128KiB
  learned: 90
  restored: 80
  restored-bytes: 32MiB
  restored-for: 3h
  recorded: 2MiB
  labels: 32
  conversations: 70
  conversations-bytes: 512MiB
  conversation: 2MiB
  conversations-for: 24h
routes:
  - {name: small, models: [qwen3*, phi*], apis: [openai.chat, ollama.chat], upstream: second, display: tags, history: strip, guard: off}
  - {name: other, models: ["*coder*"], start: inside, dialect: deepseek_r1, on-no-answer: empty, thinking-limit: 900}
`
