package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/lab/study"
	"github.com/sotto-llm/sotto/internal/lab/studyreport/studytest"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/testing/terminaltest"
	"github.com/sotto-llm/sotto/record"
)

// strangeText is the same text as it may appear in JSON.
var strangeText = strings.ToValidUTF8(terminaltest.Strange, "")

// quote quotes text as JSON does. It leaves every byte unescaped that JSON allows
// unescaped.
func quote(text string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		panic(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), `\u2028`, "\u2028")
}

// quoteYAML quotes text as YAML does, in plain ASCII, because YAML does not allow
// raw control characters.
func quoteYAML(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r < ' ' || r >= 0x7f || r == '"' || r == '\\' {
			fmt.Fprintf(&b, `\U%08x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// A hostileCase is one call of a command.
type hostileCase struct {
	args  []string
	stdin string
	// silent says why none of the hostile text is in its output.
	silent string
	// run runs the command with other arguments.
	run func(t *testing.T, sh *shell.Shell)
}

func of(args ...string) hostileCase { return hostileCase{args: args} }

// unnamed is a call whose file name may be a key, typed in the wrong place.
func unnamed(args ...string) hostileCase {
	return hostileCase{args: args, silent: "the name of a file of keys is not shown"}
}

// TestHostileText runs every command with files and peers that are full of control
// sequences, while standard output and standard error are a terminal. A command
// without a case fails.
func TestHostileText(t *testing.T) {
	if effort.Brief() {
		t.Skip("every command, one at a time: SOTTO_EFFORT=1 runs it")
	}
	t.Chdir(t.TempDir())
	cases := hostileCases(t)
	var line commandLine
	parser, err := newParser(&line, shell.New(nil, io.Discard, io.Discard, os.Getenv))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		name := strings.TrimPrefix(leaf.FullPath(), "sotto ")
		names[name] = true
		if len(cases[name]) == 0 {
			t.Errorf("sotto %s has no case", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		if !names[name] {
			t.Errorf("there is no command %q", name)
		}
		words := strings.Fields(name)
		list := append(cases[name], of("--"+terminaltest.Strange))
		for i, c := range list {
			c.args = append(slices.Clone(words), c.args...)
			for _, colour := range []bool{true, false} {
				if !colour && !slices.Contains([]string{"demo", "record show", "record follow"}, name) {
					continue // nothing else uses styles
				}
				t.Run(fmt.Sprintf("%s/%d/%t", strings.ReplaceAll(name, " ", "_"), i, colour), func(t *testing.T) { c.check(t, colour) })
			}
		}
	}
}

// strangeFile is a file name that itself contains hostile text.
func strangeFile(name string) string { return strings.ReplaceAll(name+terminaltest.Strange, "/", "") }

func (c *hostileCase) check(t *testing.T, colour bool) {
	getenv := func(name string) string {
		switch {
		case name == "NO_COLOR" && !colour:
			return "1"
		case name == "XDG_STATE_HOME":
			return t.TempDir()
		}
		return ""
	}
	var status int
	shown := terminaltest.OnTerminal(t, func(tty *os.File) {
		if c.run != nil {
			c.run(t, shell.New(strings.NewReader(c.stdin), tty, tty, getenv))
			return
		}
		status = Run(c.args, strings.NewReader(c.stdin), tty, tty, getenv)
	})
	rest := shown
	for _, s := range append([]string{"\x1b[2K\r", "\x1b[0K", "\r"}, terminaltest.Styles...) {
		rest = bytes.ReplaceAll(rest, []byte(s), nil)
	}
	if erased := bytes.ReplaceAll(shown, []byte("\x1b[2K\r"), nil); bytes.Contains(erased, []byte("\r")) && !bytes.Contains(shown, []byte("%|")) && !bytes.Contains(shown, []byte("% |")) {
		t.Errorf("a carriage return, and no progress bar:\n%q", shown)
	}
	if bad := terminaltest.Forbidden(rest); bad != "" {
		t.Errorf("sotto %q (status %d) printed %s", c.args, status, bad)
	}
	if strings.Contains(string(shown), "owned") == (c.silent != "") {
		t.Errorf("sotto %q (status %d): want something strange in it: %t, got\n%s", c.args, status, c.silent == "", rest)
	}
}

// TestHostilePages: text from a file cannot hide or reorder anything in a page, and
// cannot add markup.
func TestHostilePages(t *testing.T) {
	t.Chdir(t.TempDir())
	script := strangeText + "<script>owned</script>\" onload=\"owned"
	q := quote(script)
	lines := write(t, "lines.jsonl", fmt.Sprintf(`{"id":%[1]s,"raw":%[2]s,"input":%[1]s,"gold":"x","arm":%[1]s}`+"\n"+`{"id":"b","raw":"Answer: x","input":"y","gold":"x","arm":"b"}`+"\n", q, quote("<think>"+script+"</think>Answer: "+script)))
	task := write(t, "task.yaml", "name: mine\nvalidator: regex\npattern: '[\\s\\S]+'\n")
	results := "results" + strings.ReplaceAll(script, "/", "")
	for _, args := range [][]string{
		{"score", "--task", "qa", "--jsonl", "--by-field", "arm", "--k", "--html", "page.html", lines},
		{"solve", "--task-file", task, "--mode", "cot", "--replies", lines, "-o", results, "-q"},
		{"solve", "report", results, "--html", "page.html"},
	} {
		if status, errs := statusOf(args...); status != 0 {
			t.Fatalf("%q: %s", args, errs)
		}
		page, err := os.ReadFile("page.html")
		if err != nil {
			t.Fatal(err)
		}
		if bad := terminaltest.Forbidden(page); bad != "" || bytes.Contains(page, []byte("<script")) || bytes.Contains(page, []byte(`" onload`)) || !bytes.Contains(page, []byte("owned")) {
			t.Errorf("%q: the page has %s:\n%s", args, bad, page)
		}
	}
}

// write writes a file of the test.
func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// hostileCases makes the files and peers, and lists the calls by command.
func hostileCases(t *testing.T) map[string][]hostileCase {
	q, y := quote(strangeText), quoteYAML(strangeText)
	reply := write(t, strangeFile("reply"), "<think>"+terminaltest.Strange+"</think>Answer: "+terminaltest.Strange+"\n<narrate>"+terminaltest.Strange+"</narrate>\n")
	lines := write(t, strangeFile("lines"), fmt.Sprintf(`{"id":%[1]s,"raw":%[2]s,"input":%[1]s,"gold":%[1]s,"caption":%[1]s,"arm":%[1]s}`+"\n"+`{"id":"b","raw":"x","input":"y","gold":"z","arm":"w","dialect":%[1]s}`+"\n"+`{"id":%[1]s,`+terminaltest.Strange+"\n", q, quote("<think>"+strangeText+"</think>Answer: "+strangeText)))
	good := write(t, "good.jsonl", fmt.Sprintf(`{"id":%s,"raw":%s,"input":%[1]s,"gold":"x %[3]s"}`+"\n", q, quote("<think>"+strangeText+"</think>Answer: "+strangeText), strings.Trim(q, `"`)))
	task := write(t, "task.yaml", "name: mine\nvalidator: regex\npattern: '[\\s\\S]+'\n")
	badYAML := write(t, strangeFile("bad.yaml"), "v: 1\n"+strangeText+": 1\n")
	oddYAML := write(t, "odd.yaml", "v: 1\n"+y+": "+y+"\nupstream: "+y+"\ndisplay: "+y+"\n")
	missing := strangeFile("missing")
	all := map[string][]hostileCase{
		"version":    {{silent: "there is nothing foreign in it"}},
		"completion": {of(terminaltest.Strange), {args: []string{"bash"}, silent: "there is nothing foreign in it"}},
		"demo":       {of(lines), of("--field", "caption", lines), of("--field", terminaltest.Strange, lines), of(missing)},
		"strip": {
			of(reply), {args: []string{"--narration", "text"}, stdin: "a " + terminaltest.Strange + terminaltest.Strange}, of("--reasoning-to", "stderr", reply), of("--reasoning-to", "fd:1", reply),
			of("--reasoning-to", "fd:"+terminaltest.Strange, reply), of("--reasoning-to", "/dev/tty"+terminaltest.Strange+"/x", reply), of("--jsonl", "--field", "raw", lines), of("--jsonl", "--field", terminaltest.Strange, lines), of("--start", terminaltest.Strange, reply), of(missing),
		},
		"split": {of(reply), of("--jsonl", lines), of("--dialect", terminaltest.Strange, reply), of("--model", terminaltest.Strange, "--end", terminaltest.Strange, reply), of(missing)},
		"extract": {
			of("--task-file", task, reply), of("--task", "qa", "--jsonl", "--distill", "query", lines), of("--task", terminaltest.Strange, reply), of("--task-file", badYAML, reply), of("--task-file", write(t, "odd-task.yaml", "name: "+y+"\nvalidator: "+y+"\n"), reply),
			of("--task", "json", "--schema", oddYAML, reply), of("--task", "json", "--schema", missing, reply), of("--task", "qa", "--jsonl", "--field", "a."+terminaltest.Strange, lines), of("--task", "qa", "--jsonl", "-o", missing+"/x", lines),
		},
		"dialects":  hostileDialects(t),
		"a2a probe": hostileA2A(t),
		"probe":     hostileProbe(t),
		"doctor":    hostileDoctor(t),

		"health":    hostileHealth(t, badYAML, oddYAML),
		"token new": {{args: []string{"--add", write(t, "odd.token", terminaltest.Strange)}, silent: "no part of a token is shown"}, of("--add", missing+"/x"), {args: []string{"--expires", terminaltest.Strange}, silent: "the fault says what is wanted"}},
		"token revoke": {
			of("--config", write(t, "revoke.yaml", "tokens: {alice: {token-file: alice.token}}\n"), strangeText), of("--config", write(t, strangeFile("revoke.yaml"), "{"+terminaltest.Strange), "alice"),
			of("--file", strangeFile("none.token"), "sha256:12345678"), of("--config", missing, "alice"), of("sha256:" + strangeText),
			{args: []string{"--file", write(t, "odd.revoke", terminaltest.Strange), "sha256:12345678"}, silent: "no part of a token is shown"},
		},
		"token hash": {{stdin: terminaltest.Strange, silent: "no part of a token is shown"}, unnamed(missing)},

		"replay-history": hostileHistory(t),
		"init":           hostileInit(t),
		"compare": {
			of("--by-field", "arm", "--task-field", "task", "--agreement", "nominal", write(t, strangeFile("compared.jsonl"), fmt.Sprintf(`{"id":1,"arm":%[1]s,"task":%[1]s,"ok":true}`+"\n"+`{"id":1,"arm":"b","task":%[1]s,"ok":false}`+"\n", q))),
			of(write(t, "noverdict.jsonl", fmt.Sprintf(`{"id":1,"ok":%s}`, q))), of("--metric", terminaltest.Strange, write(t, "metric.jsonl", fmt.Sprintf(`{"epoch":1,"scores":{%[1]s:{"value":"C"},"b":{"value":"C"}}}`, q))),
			of("--verdict-field", "a."+terminaltest.Strange, "metric.jsonl"), of("--baseline", terminaltest.Strange, strangeFile("compared.jsonl")), of(terminaltest.Strange + "=" + missing), of(missing),
		},
		"explain": {of(terminaltest.Strange), of("--search", terminaltest.Strange)},
		"leaks": {
			of(write(t, strangeFile("leaks.jsonl"), fmt.Sprintf(`{"model":%[1]s,"path":%[1]s,"title":%[2]s,"messages":[{"role":"assistant","content":%[2]s}]}`+"\n"+`{%[1]s`+"\n", q, quote("<think>"+strangeText+" and more</think>"+strangeText)))),
			of("--json", strangeFile("leaks.jsonl")), of(reply), of("--max-leaked", terminaltest.Strange), of(missing),
		},
		"run":  hostileRun(t),
		"chat": hostileChat(t, badYAML),
		"mcp": {
			{stdin: `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":` + q + `,"version":"1"}}}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"split","arguments":{"text":` + q + `}}}` + "\n" + terminaltest.Strange + "\n"},
			of("--record", missing), of("--listen", terminaltest.Strange), of("--allow-host", terminaltest.Strange, "--listen", "nowhere"+terminaltest.Strange+":0"), unnamed("--listen", "127.0.0.1:0", "--token-file", missing),
		},
		"console": {of(missing), of(hostileStudy(t), "--listen", terminaltest.Strange), unnamed(hostileStudy(t), "--listen", "127.0.0.1:0", "--token-file", missing), unnamed("--identity", missing, hostileStudy(t))},
		"serve":   hostileServe(t, badYAML, oddYAML),
	}
	maps.Copy(all, hostileScores(t, good, lines, reply))
	maps.Copy(all, hostileRecord(t))
	maps.Copy(all, hostileData(t))
	maps.Copy(all, hostileSolve(t, good, lines, task))
	return all
}

// hostileHealth asks a server whose answer is hostile.
func hostileHealth(t *testing.T, badYAML, oddYAML string) []hostileCase {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, terminaltest.Strange)
	}))
	t.Cleanup(server.Close)
	return []hostileCase{of(server.URL), of(server.URL + "/" + url.PathEscape(terminaltest.Strange)), of("http://" + terminaltest.Strange), of("--ca", strangeFile("missing"), "https://127.0.0.1:1"), of("--config", badYAML), {args: []string{"--config", oddYAML}, silent: "faults in the settings are the gateway's"}, of("--config", strangeFile("missing"))}
}

// hostileChat talks to an agent whose model and tools write hostile text on every
// channel.
func hostileChat(t *testing.T, badYAML string) []hostileCase {
	q := quote(strangeText)
	write(t, "chat.jsonl", fmt.Sprintf(`{"text":%s,"calls":[{"name":"write","arguments":{"key":"k","value":%s}}]}`+"\n"+`{"text":%[1]s}`+"\n",
		quote("<think>"+strangeText+"</think><narrate>"+strangeText+"</narrate>"+strangeText), q))
	agent := write(t, strangeFile("chat.yaml"), "v: 1\nname: hostile\nstart: outside\nmodel: {provider: scripted, script: chat.jsonl}\n")
	talk := terminaltest.Strange + "\n/thoughts\n/" + terminaltest.Strange + "\n/save " + strangeFile("none") + "/x\n"
	var list []hostileCase
	for _, reasoning := range []string{"show", "line", "hide"} {
		list = append(list, hostileCase{args: []string{"--data", "chats", "--agent", agent, "--reasoning", reasoning}, stdin: talk})
	}
	return append(list, of("--agent", badYAML), of("--agent", strangeFile("none")), of("--data", "chats", "--name", terminaltest.Strange), unnamed("--model", "x", "--key-file", strangeFile("none")),
		hostileCase{args: []string{"--model", "x", "--url", terminaltest.Strange}, silent: "a URL may hold a key"})
}

func hostileScores(t *testing.T, good, lines, reply string) map[string][]hostileCase {
	var out bytes.Buffer
	Run([]string{"score", "--task", "qa", "--jsonl", good}, nil, &out, io.Discard, os.Getenv)
	scored := write(t, "scored.jsonl", strings.ReplaceAll(out.String(), `"candidate":"`, `"candidate":"not `))
	q := quote(strangeText)
	arms := write(t, "arms.jsonl", fmt.Sprintf(`{"raw":"x","gold":"x","arm":%s}`, q))
	if status, errs := statusOf("score", "--task", "qa", "--jsonl", "--by-field", "arm", "--shard", "0/1", "-o", "shards", arms); status != 0 {
		t.Fatal(errs)
	}
	foreign := write(t, "foreign.manifest.json", fmt.Sprintf(`{"v":1,"command":%[1]s,"shard":{"index":0,"count":1},"output":{"name":"part-00000-of-00001.jsonl"}}`, q))
	elsewhere := write(t, "elsewhere.manifest.json", fmt.Sprintf(`{"v":1,"command":"score","shard":{"index":0,"count":1},"output":{"name":%s}}`, q))
	other := write(t, "other.manifest.json", fmt.Sprintf(`{"v":1,"command":"score","shard":{"index":0,"count":2},"sotto":%s,"scores":{},"output":{"name":"part-00000-of-00002.jsonl"}}`, q))
	second := write(t, "second.manifest.json", `{"v":1,"command":"score","shard":{"index":1,"count":2},"scores":{},"output":{"name":"part-00001-of-00002.jsonl"}}`)
	merge := []hostileCase{of("shards"), of("--json", "shards"), of(foreign), of(elsewhere), of(other, second), of(strangeFile("none")), of("s3://" + terminaltest.Strange)}
	return map[string][]hostileCase{"score merge": merge, "score judge": {
		of("--task", "qa", "--jsonl", "--shard", "0/1", "-o", strangeFile("folder"), good), of("--task", "qa", "--jsonl", "--shard", terminaltest.Strange, "-o", "x", good), of("--task", "qa", "--jsonl", "--shard", "0/1", "-o", "x", strangeFile("none*")),
		of("--task", "qa", "--gold", terminaltest.Strange, reply), of("--task", "qa", "--jsonl", "--by-field", "arm", "--k", lines), of("--task", "qa", "--jsonl", "--compare", scored, good),
		of("--task", "qa", "--jsonl", "--json", "--by-field", "arm", lines), of("--task", "qa", "--jsonl", "--compare", lines, good), of("--task", "qa", "--jsonl", "--compare", terminaltest.Strange+"=1", good),
		{args: []string{"--task", "qa", "--jsonl", "-o", "out.jsonl", "--by-field", "id", lines}}, of("--task", "qa", "--jsonl", "--html", "/dev/stdout"+terminaltest.Strange+"/x", good),
	}}
}

func hostileDialects(t *testing.T) []hostileCase {
	q := quote(strangeText)
	own := write(t, "dialect.json", fmt.Sprintf(`[{"name":"mine","models":["mine-*"],"sources":[%[1]s],"prompt":%[1]s,"markers":[{"role":"reasoning","name":"plan","open":[%[2]s],"close":["[[/plan]]"]}]}]`, q, quote("[["+strangeText)))
	var list []hostileCase
	for i, text := range []string{`[{"name":` + q, `[{"name":` + q + `}]`, `[{"name":"mine",` + q + `:1}]`, `[{"name":"mine","markers":[{"role":` + q + `,"tag":"x"}]}]`} {
		list = append(list, of("--dialect-file", write(t, fmt.Sprintf("dialect%d.json", i), text)))
	}
	list[0].silent = "a syntax error quotes nothing"
	return append(list, of("--dialect-file", own), of("--dialect-file", own, "mine"), of("--dialect-file", own, "--json"), of("--dialect-file", own, "--prompt", "mine"), of(terminaltest.Strange), of("--prompt", terminaltest.Strange), of("--dialect-file", strangeFile("none")))
}

// hostileRecord makes a record in which every text is hostile, including members
// that this version does not know.
func hostileRecord(t *testing.T) map[string][]hostileCase {
	s := strangeText
	say := record.Say(s)
	reply := spoken("qwen3", "<think>"+s+"</think>"+s, sotto.EndStopped)
	reply.ToolCalls = []record.Call{{ID: s, Name: s, Arguments: say}}
	reply.Reasoning = []record.Thought{{Field: s, Text: say}}
	dir := writeRun(t, []record.Event{
		{Run: "run", Payload: record.RunStart{Agent: s, Model: s, Goal: say}},
		{Run: "run", Cycle: 1, Payload: record.Invocation{Model: s, Provider: s, Purpose: s, Error: s, Messages: []record.Message{{Role: s, Text: say, CallID: s}}, Replies: []record.Reply{reply}}},
		{Run: "run", Cycle: 1, Payload: record.ToolCall{ID: s, Name: s, Phase: "end", Arguments: say, Result: say, Error: s}},
		{Run: "run", Cycle: 1, Payload: record.Extraction{Of: record.Ref{Seq: 2}, Task: s, Method: s, Status: s, Candidate: say, Verdict: &record.Verdict{Reason: s, Detail: say, By: s}}},
		{Run: "run", Cycle: 1, Payload: record.Advisory{Code: s, From: s, Text: say}},
		{Run: "run", Cycle: 1, Payload: record.CycleEnd{Status: s, Summary: say}},
		{Payload: record.Exchange{API: s, Model: s, Path: s, Upstream: s, Status: 500, Outcome: s, Error: s, History: s, Replies: []record.Reply{reply}}},
		{Payload: record.Failure{Code: s, Message: s}},
		{Run: "run", Payload: record.RunEnd{Status: s, Result: say}},
	}, record.Options{})
	segments, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(segments) != 1 {
		t.Fatal(segments, err)
	}
	data, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	q := quote(s)
	text := strings.ReplaceAll(string(data), `"payload":{`, `"payload":{`+q+`:`+q+`,"nest":{`+q+`:{`+q+`:1}},"list":[`+q+`],`)
	text = strings.Replace(text, `"type":"RUN_END"`, `"type":`+q, 1)
	write(t, segments[0], text)
	if list, _ := filepath.Glob(filepath.Join(dir, "*.idx")); len(list) > 0 {
		os.Remove(list[0])
	}
	broken := t.TempDir()
	write(t, filepath.Join(broken, filepath.Base(segments[0])), text+`{"v":1,`+s+"\n")
	none := strangeFile("none")
	return map[string][]hostileCase{
		"record ls":     {of(dir), of(dir, "--json"), of(none), of(dir, "--from", terminaltest.Strange), of(broken)},
		"record show":   {of(dir), of(dir, "--json"), of(dir, "2"), of(dir, "--type", "EXCHANGE"), of(dir, terminaltest.Strange), of(broken), unnamed("-i", none, dir)},
		"record follow": {of(dir, "--all", "--limit", "9"), of(dir, "--all", "--limit", "9", "--json"), of(none)},
		"record grep":   {of(dir, "owned"), of(dir, "owned", "--json"), of(dir, terminaltest.Strange+"[owned"), of(dir, "owned", "--in", "reasoning")},
		"record stats":  {of(dir), of(dir, "--json"), of(none)},
		"record export": {of(dir, "--content"), of(dir, "--signal", "logs", "--content"), of(none)},
		"record index":  {of(none), unnamed("-i", none, dir), {args: []string{broken}, silent: "it has no segment that is large enough"}},
		"record verify": {{args: []string{broken}, silent: "findings name events by their numbers"}, {args: []string{broken, "--json"}, silent: "so do those in JSON"}, of(none), unnamed(dir, "--head", terminaltest.Strange), unnamed(dir, "--key", none)},
		"record ship":   {of(none, "s3://bucket/x"), of(dir, terminaltest.Strange), of(dir, "s3://bucket/"+terminaltest.Strange)},
		"record prune":  {of(none, "--keep-size", "1"), of(dir, "--keep-size", terminaltest.Strange), of(dir, "--older", terminaltest.Strange)},
		"record keygen": {of(none + "/key")},
		"record table": {
			of("replies", dir), of("thoughts", dir, "--format", "jsonl"), of("calls", dir), of("cycles", dir, "--format", "jsonl"), of("extractions", dir), of("verdicts", dir), {args: []string{"edges", dir, "--format", "jsonl"}, silent: "references are numbers"},
			of("events", dir, "--as", "contreact"), of("events", dir, "--as", "graphbot"), of("replies", broken), of("replies", none), of("replies", dir, "-o", none+"/x"), of(terminaltest.Strange, dir),
		},
		"record import": {of("--from", "contreact", write(t, strangeFile("contreact"), "{"+s+"\n"), "--record", t.TempDir()), of("--from", "contreact", none, "--record", t.TempDir()), of("--from", terminaltest.Strange, none, "--record", t.TempDir())},
		"thoughts": {
			of(dir), of(dir, "--json"), of(none), of(dir, "--from", terminaltest.Strange), of(dir, "--figure", terminaltest.Strange), unnamed("-i", none, dir),
			of(dir, "--rubric", none, "--judge", "m"), of(dir, "--between", terminaltest.Strange+",b"),
		},
		"panel": hostilePanel(t, dir, none),
	}
}

// hostilePanel rates what others wrote, under names of others, by raters whose replies are odd.
func hostilePanel(t *testing.T, dir, none string) []hostileCase {
	q, y := quote(strangeText), quoteYAML(strangeText)
	rubric := write(t, "panel-rubric.yaml", "v: 1\nname: r\ncriteria: [{name: c, description: d, labels: ["+y+", b], level: nominal}]\n")
	write(t, "panel-script.yaml", "- text: '{\"c\": \"b\"}'\n")
	raters := write(t, "panel-raters.yaml", "v: 1\nraters: [{name: a, model: {provider: scripted, script: panel-script.yaml}}]\n")
	lines := write(t, strangeFile("rated.jsonl"), fmt.Sprintf(`{"id":%[1]s,"model":%[1]s,"raw":%[1]s}`+"\n"+`{%[1]s`+"\n", q))
	return []hostileCase{
		of("--rubric", rubric, "--raters", raters, "--record", t.TempDir(), lines), of("--rubric", rubric, "--raters", raters, "--record", t.TempDir(), "--json", lines),
		of("--rubric", none, "--raters", raters, dir), of("--rubric", rubric, "--raters", write(t, "odd-raters.yaml", "v: 1\nraters: [{name: a, model: {provider: "+y+"}}]\n"), dir),
		of("--rubric", rubric, "--raters", raters, none), of("--rubric", rubric, "--raters", raters, "--field", terminaltest.Strange, lines),
	}
}

func hostileSolve(t *testing.T, good, lines, task string) map[string][]hostileCase {
	memory := filepath.Join(t.TempDir(), "memory.db")
	results := filepath.Join(t.TempDir(), strangeFile("results"))
	var errs bytes.Buffer
	if status := Run([]string{"solve", "--task-file", task, "--mode", "graph", "--replies", good, "--memory", memory, "-o", results}, nil, io.Discard, &errs, os.Getenv); status != 0 {
		t.Fatal(errs.String())
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasPrefix(r.URL.Path, "/bad") {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":%s}`, quote(strangeText))
			return
		}
		fmt.Fprintf(w, `{"message":{"role":"assistant","content":%s},"done":true}`+"\n", quote("<think>x</think>Answer: "+strangeText))
	}))
	t.Cleanup(upstream.Close)
	key, _, _ := strings.Cut(nodeKey(t, memory), "\n")
	stream := func(args ...string) []string {
		return append([]string{"--task-file", task, "--problems", good, "--mode", "graph"}, args...)
	}
	none := strangeFile("none")
	return map[string][]hostileCase{
		"solve stream": {
			of(stream("--model", terminaltest.Strange, "--url", upstream.URL)...), of(stream("--model", terminaltest.Strange, "--url", upstream.URL+"/bad")...), of(stream("--model", terminaltest.Strange, "--json", "--url", upstream.URL)...),
			of("--task-file", task, "--problems", lines), of("--replies", lines), of("--task", terminaltest.Strange), of("--script", none), of("--prices", none), of(stream("--model", terminaltest.Strange, "--prices", write(t, "prices.yaml", quoteYAML(strangeText)+": {input: "+quoteYAML(strangeText)+"}\n"))...),
			of("--provider", terminaltest.Strange, "--model", "x"), of("--think", terminaltest.Strange, "--model", "scripted", "--instruction", none), of(stream("-o", "stream.jsonl", "--model", terminaltest.Strange, "--url", upstream.URL)...),
		},
		"study run":           hostileStudyFiles(t),
		"study status":        {of(hostileStudy(t)), of(hostileStudy(t), "--json"), of(none)},
		"study export":        {of(hostileStudy(t), "-o", none+".tar"), of(none, "-o", none+".tar"), of(hostileStudy(t), "-o", none+"/x.tar")},
		"study verify":        {of(none), of(none, "--max-size", terminaltest.Strange)},
		"study report":        {of(hostileStudy(t)), of(hostileStudy(t), "--json"), of(none), of(hostileStudy(t), "--html", none+"/x"), of(hostileStudy(t), "--measure", terminaltest.Strange)},
		"solve report":        {of(results), of(results, "--json"), of(lines), of(none), of(results, "--html", none+"/x")},
		"solve memory ls":     {of("--memory", memory), of("--memory", memory, "--json"), of("--memory", none)},
		"solve memory show":   {of("--memory", memory, key), of("--memory", memory, "--json", key), of("--memory", memory, terminaltest.Strange)},
		"solve memory export": {of("--memory", memory), of("--memory", none)},
		"solve memory import": {of("--memory", memory, lines), of("--memory", memory, write(t, "import.jsonl", `{"v":1,"task":`+quote(strangeText)+`,"kind":"trace","key":"x","problem":{"input":"x"},"candidate":"y","seen":1}`+"\n"))},
		"solve memory graph":  {of("--memory", memory), of("--memory", memory, "--format", "html"), of("--memory", memory, "--format", "graphml"), of(results), of("--memory", none), of(lines)},
		"solve memory prune":  {of("--memory", memory, "--unused", "1ns", "--dry-run"), of("--memory", memory, "--unused", terminaltest.Strange)},
		"solve games":         {of("--seed", terminaltest.Strange)},
		"solve figures":       {of("--log", none)},
	}
}

// nodeKey returns the key of a node in memory.
func nodeKey(t *testing.T, memory string) string {
	t.Helper()
	var out bytes.Buffer
	Run([]string{"solve", "memory", "ls", "--json", "--memory", memory}, nil, &out, io.Discard, os.Getenv)
	var node struct{ Key string }
	if err := json.NewDecoder(&out).Decode(&node); err != nil {
		t.Fatal(err)
	}
	return node.Key
}

// hostileA2A makes servers whose every text is hostile.
func hostileA2A(t *testing.T) []hostileCase {
	q := quote(strangeText)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "agent-card.json") {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":%[1]s,"data":%[1]s}}`, q)
			return
		}
		fmt.Fprintf(w, `{"name":%[1]s,"description":%[1]s,"version":%[1]s,"protocolVersion":"0.3.0","url":"http://%[2]s/rpc","preferredTransport":"JSONRPC","supportedInterfaces":[{"url":"http://%[2]s/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":%[1]s,"protocolBinding":%[1]s,"protocolVersion":%[1]s}],
			"capabilities":{"streaming":true},"defaultInputModes":[%[1]s],"defaultOutputModes":[%[1]s],"skills":[{"id":%[1]s,"name":%[1]s,"description":%[1]s,"tags":[%[1]s]}]}`, q, r.Host)
	}))
	t.Cleanup(server.Close)
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		io.WriteString(w, terminaltest.Strange)
	}))
	t.Cleanup(broken.Close)
	return []hostileCase{
		of("--all", "--time", "2s", server.URL), of("--json", "--time", "2s", server.URL), of("http://" + terminaltest.Strange), of("http://127.0.0.1:1/" + strangeText), unnamed("--token-file", strangeFile("none"), server.URL),
		{args: []string{"--time", "2s", broken.URL}, silent: "what is not a card is not shown"},
	}
}

// hostileProbe makes chat servers whose every text is hostile.
func hostileProbe(t *testing.T) []hostileCase {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/models"):
			fmt.Fprintf(w, `{"data":[{"id":%s}]}`, quote(strangeText))
		case strings.HasPrefix(r.URL.Path, "/bad"):
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprintf(w, `{"error":{"message":%s}}`, quote(strangeText))
		default:
			fmt.Fprintf(w, `{"choices":[{"message":{"content":%s},"finish_reason":%s}]}`, quote("<think>"+strangeText+" and more</think>"+strangeText), quote(strangeText))
		}
	}))
	t.Cleanup(server.Close)
	return []hostileCase{
		of("--all", server.URL), of("--json", server.URL), of("--model", terminaltest.Strange, server.URL+"/bad"), of("http://" + terminaltest.Strange),
		unnamed("--token-file", strangeFile("none"), server.URL),
	}
}

// hostileHistory makes a record of a conversation, and a server that refuses it, with
// hostile texts.
func hostileHistory(t *testing.T) []hostileCase {
	dir := t.TempDir()
	w, err := record.Open(dir, record.Options{})
	if err != nil {
		t.Fatal(err)
	}
	said := record.Message{Role: "assistant", Text: record.Say(strangeText), Reasoning: []record.Thought{{Field: strangeText, Text: record.Say(strangeText)}}}
	x := record.Exchange{
		API: "openai.chat", Model: strangeText, Outcome: "answered", Messages: []record.Message{{Role: "user", Text: record.Say(strangeText)}, said, {Role: strangeText, Text: record.Say("again")}},
		Replies: []record.Reply{{Raw: record.Say(strangeText)}}, IDs: map[string]string{"conversation": strangeText},
	}
	w.Enqueue(record.Event{Payload: x})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/bad") {
			w.WriteHeader(http.StatusTeapot)
		} else {
			w.WriteHeader(http.StatusBadRequest)
		}
		fmt.Fprintf(w, `{"error":{"message":%s}}`, quote(strangeText))
	}))
	t.Cleanup(server.Close)
	odd := write(t, strangeFile("rows.jsonl"), terminaltest.Strange+"\n")
	return []hostileCase{
		of(dir, "--upstream", server.URL), of(dir, "--upstream", server.URL, "--json"), of(dir, "--upstream", server.URL+"/bad"), of(dir, "--upstream", server.URL, "-o", odd),
		of(strangeFile("none"), "--dry-run"), of(dir, "--policy", terminaltest.Strange, "--dry-run"), unnamed(dir, "--upstream", terminaltest.Strange), of(dir, "--dry-run", "--from", terminaltest.Strange),
	}
}

// hostileDoctor makes model servers whose every text is hostile.
func hostileDoctor(t *testing.T) []hostileCase {
	q := quote(strangeText)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Via", "1.1 strange")
		switch {
		case strings.HasPrefix(r.URL.Path, "/bad") && !strings.HasSuffix(r.URL.Path, "/models"):
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprintf(w, `{"error":{"message":%s}}`, q)
		case strings.HasSuffix(r.URL.Path, "/api/version"):
			fmt.Fprintf(w, `{"version":%s}`, q)
		case strings.HasSuffix(r.URL.Path, "/models"):
			fmt.Fprintf(w, `{"data":[{"id":%s,"owned_by":%[1]s}]}`, q)
		case strings.HasSuffix(r.URL.Path, "/api/show"):
			fmt.Fprintf(w, `{"template":%s,"model_info":{%s:7}}`, q, quote(strangeText+".context_length"))
		case strings.HasSuffix(r.URL.Path, "/api/chat"):
			fmt.Fprintf(w, `{"message":{"content":%s,"thinking":%s,"tool_calls":[{"function":{"name":%[2]s,"arguments":{%[2]s:%[2]s}}}]},"done":true,"done_reason":%[2]s}`+"\n", quote("<think>"+strangeText+" and more</think>"+strangeText), q)
		default:
			fmt.Fprintf(w, `{"choices":[{"message":{"content":%s},"finish_reason":%s}]}`, quote("[THINK]"+strangeText+" and more[/THINK]"+strangeText), q)
		}
	}))
	t.Cleanup(server.Close)
	return []hostileCase{
		of("--upstream", server.URL), of("--upstream", server.URL, "--json"), of("--upstream", server.URL, "--api", "openai"),
		of("--upstream", server.URL+"/bad", "--model", terminaltest.Strange), of("--upstream", "http://"+terminaltest.Strange), of("--api", terminaltest.Strange),
		unnamed("--upstream-key-file", strangeFile("none"), "--upstream", server.URL),
	}
}

// hostileInit makes a model server whose name and version are hostile.
func hostileInit(t *testing.T) []hostileCase {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"version":%s,"data":[{"id":%[1]s}]}`, quote(strangeText))
	}))
	t.Cleanup(server.Close)
	return []hostileCase{
		of("--upstream", server.URL, "--print"), of("--upstream", server.URL, strangeFile("sotto.yaml")), of("--upstream", "http://"+terminaltest.Strange),
		of("--upstream", "http://127.0.0.1:1", "--listen", terminaltest.Strange),
	}
}

// hostileRun makes experiments whose model writes hostile text, also to the
// operator's terminal.
func hostileRun(t *testing.T) []hostileCase {
	q := quoteYAML(strangeText)
	write(t, "script.yaml", fmt.Sprintf(`- when: {step: 1}
  text: %[1]s
  calls: [{name: send_message_to_operator, arguments: {message: %[1]s}}, {name: write, arguments: {key: %[1]s, value: %[1]s}}, {name: %[1]s, arguments: {}}]
- when: {cycle: 2}
  error: {status: 400, message: %[1]s}
- text: %[2]s
`, q, quoteYAML("<think>"+strangeText+"</think>"+strangeText)))
	const rest = "cycles: 2\nmodel: {provider: scripted, script: script.yaml}\nmemory: [write]\noperator: {by: terminal}\n"
	experiment := write(t, "experiment.yaml", "v: 1\nname: strange\ngoal: "+q+"\n"+rest)
	odd := write(t, strangeFile("odd.yaml"), "v: 1\nname: "+q+"\ngoal: "+q+"\n"+q+": "+q+"\ndialect: "+q+"\n"+rest)
	audit := filepath.Join(t.TempDir(), "audit")
	return []hostileCase{
		of("--config", experiment, "--record", audit), of("--config", experiment, "--record", audit, "--json"), of("--config", experiment, "--replay", audit),
		of("--config", experiment, "--replay", audit, "--name", terminaltest.Strange), of("--config", odd), of("--config", odd, "--check"), of("--config", strangeFile("none")), of("--config", experiment, "--record", audit+terminaltest.Strange+"/x\x00"),
	}
}

// hostileServe is the gateway between an upstream and a client that both send
// hostile text.
func hostileServe(t *testing.T, badYAML, oddYAML string) []hostileCase {
	data := t.TempDir()
	write(t, filepath.Join(data, "starts.json"), fmt.Sprintf(`{"v":1,"starts":[{"upstream":%[1]s,"model":%[1]s,"switch":%[1]s,"last":["inside"],"native":%[1]s,"seen":"2026-11-21T10:00:00Z"}]}`, quote(strangeText)))
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if bytes.Contains(body, []byte("fail")) {
			w.WriteHeader(http.StatusInternalServerError)
		}
		fmt.Fprintf(w, `{"id":%[1]s,"model":%[1]s,"error":%[1]s,"choices":[{"index":0,"finish_reason":%[1]s,"message":{"role":"assistant","content":%[1]s}}]}`, quote(strangeText))
	}))
	t.Cleanup(upstream.Close)
	forged := func(args ...string) hostileCase {
		return hostileCase{args: args, silent: "learned starts that Sotto would not write are not read"}
	}
	serving := func(format string) hostileCase {
		return hostileCase{run: func(t *testing.T, sh *shell.Shell) { serveStrangers(t, sh, upstream.URL, "--log-format="+format) }}
	}
	return []hostileCase{
		of("--check", "--config", badYAML), of("--check", "--config", oddYAML), of("--config", oddYAML), of("--config", strangeFile("none")), of("--check", "--upstream", "http://"+terminaltest.Strange), of("--listen", terminaltest.Strange),
		forged("--learned", "--data", data), forged("--learned", "--json", "--data", data), of("--learned", "--data", strangeFile("none")), of("--check", "--dialect", terminaltest.Strange), unnamed("--token-file", strangeFile("none"), "--check"),
		serving("text"), serving("json"),
	}
}

// serveStrangers runs the gateway while a client sends it hostile requests.
func serveStrangers(t *testing.T, sh *shell.Shell, upstream string, args ...string) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	var line commandLine
	parser, err := newParser(&line, sh)
	if err != nil {
		t.Fatal(err)
	}
	args = append([]string{"serve", "--listen=" + address, "--upstream=" + upstream, "--verbose", "--data=" + t.TempDir() + strangeFile("/data")}, args...)
	ctx, err := parser.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	sh.Errorf("%s", terminaltest.Strange) // between the log's lines
	signals, ended := make(chan os.Signal, 1), make(chan error, 1)
	go func() { ended <- line.Serve.Serve(sh, new(dialectset.Set), ctx, signals) }()
	client := &http.Client{Transport: &http.Transport{}, Timeout: time.Minute}
	for try := 0; ; try++ {
		resp, err := client.Get("http://" + address + "/healthz")
		if err == nil {
			resp.Body.Close()
			break
		}
		if try > 6000 {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, body := range []string{
		`{"model":` + quote(strangeText) + `,"messages":[{"role":"user","content":` + quote(strangeText) + `}]}`,
		`{"model":` + quote("fail"+strangeText) + `,"messages":[{"role":"assistant","content":"<think>a</think>b"}]}`, `{"model":` + terminaltest.Strange,
	} {
		if resp, err := client.Post("http://"+address+"/v1/chat/completions?x="+strings.ReplaceAll("%1b%9b%e2%80%ae", " ", ""), "application/json", strings.NewReader(body)); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	raw, err := net.Dial("tcp", address)
	if err == nil {
		fmt.Fprintf(raw, "GET /%s HTTP/1.1\r\nHost: %s\r\nOrigin: http://%s\r\nConnection: close\r\n\r\n", strings.Map(noBreak, terminaltest.Strange), address, strings.Map(noBreak, terminaltest.Strange))
		io.Copy(io.Discard, io.LimitReader(raw, 1<<16))
		raw.Close()
	}
	client.CloseIdleConnections()
	signals <- syscall.SIGTERM
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func noBreak(r rune) rune {
	if r == '\r' || r == '\v' || r == ' ' {
		return -1
	}
	return r
}

// hostileStudyFiles are files of studies that say what is wrong, or list their cells.
func hostileStudyFiles(t *testing.T) []hostileCase {
	q := quoteYAML(strangeText)
	game := "v: 1\nname: s\nbase: {solve: {task: game24}}\n"
	var list []hostileCase
	for i, c := range []struct {
		text string
		args []string
	}{
		{game + "grid: {arm: [{label: a, set: {instruction: " + q + "}}]}\n", nil},
		{game + "grid: {" + q + ": [1]}\n", nil},
		{game + "grid: {mode: [" + q + "]}\n", nil},
		{game + q + ": 1\n", nil},
		{"v: 1\nname: " + q + "\nbase: {run: " + q + "}\n", nil},
		{"v: 1\nname: s\nbase: {run: " + q + "}\n", nil},
		{game + "grid: {limit: [" + q + "]}\n", nil},
		{game + "grid: {audit: [" + q + "]}\n", []string{"--dry-run"}},
		{game, []string{"--set", terminaltest.Strange + "=1"}},
	} {
		list = append(list, of(append([]string{write(t, fmt.Sprintf("study%d.yaml", i), c.text)}, c.args...)...))
	}
	return append(list, of(strangeFile("none")))
}

// hostileStudy writes a study whose texts are all hostile.
func hostileStudy(t *testing.T) string {
	dir := t.TempDir()
	m := studytest.Streams(t, dir, studytest.Grid{Models: []string{strangeText}, Modes: []string{"cot", strangeText}, Repetitions: 2, Size: 3})
	m.Name, m.Question, m.Keys, m.Cells[0].Settings = strangeText, strangeText, append(m.Keys, strangeText), "others"
	if err := study.WriteManifest(dir, m); err != nil {
		t.Fatal(err)
	}
	if err := study.WriteState(dir, &study.State{V: 1, Cell: m.Cells[1].ID, Status: study.Failed, Settings: "s", Reason: strangeText}); err != nil {
		t.Fatal(err)
	}
	return dir
}
