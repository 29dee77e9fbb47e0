//go:build unix

package written

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/a2aserver"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/internal/lab/metagraph"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/model"
)

// ages is longer than any sample is old.
const ages = 200 * 365 * 24 * time.Hour

// TestRead reads the samples of each commit.
func TestRead(t *testing.T) {
	all, err := filepath.Glob("../../../testdata/written/*/sample.json")
	if err != nil || len(all) == 0 {
		t.Fatal("there are no samples", err)
	}
	for _, name := range all {
		from := filepath.Dir(name)
		for kind, f := range map[string]func(*testing.T, *reader){
			"tokens": readTokens, "settings": readSettings, "data": readData, "starts": readStarts, "conversations": readConversations,
			"tasks": readTasks, "records": readRecords, "continued record": continueRecord, "replicas": readShared, "memory": readMemory, "study": readStudy,
		} {
			t.Run(filepath.Base(from)+"/"+kind, func(t *testing.T) {
				r := &reader{dir: t.TempDir()}
				r.copy(t, from)
				if err := json.Unmarshal([]byte(read(t, r.dir, "sample.json")), &r.sample); err != nil {
					t.Fatal(err)
				}
				f(t, r)
			})
		}
	}
}

// A reader has a copy of the samples.
type reader struct {
	dir    string
	sample sample
}

// copy copies the samples, for their owner only, as the program made them.
func (r *reader) copy(t *testing.T, from string) {
	t.Helper()
	err := filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		write(t, read(t, name), r.dir, below)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// keeps fails unless all of want, which an earlier program wrote, is in got. Members of
// objects may be added, and objects to a list.
func keeps(t *testing.T, what string, got, want any) {
	t.Helper()
	if lost := missing(what, got, want); lost != "" {
		t.Error(lost)
	}
}

// missing says what of want is not in got; it is "" if all is.
func missing(what string, got, want any) string {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(w)) {
			if _, ok := g[key]; !ok {
				return what + "." + key + " is missing"
			}
			if lost := missing(what+"."+key, g[key], w[key]); lost != "" {
				return lost
			}
		}
		return ""
	case []any:
		g, _ := got.([]any)
		return missingOf(what, g, w)
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("%s is %v, and was %v", what, got, want)
	}
	return ""
}

// missingOf is missing for lists. All of want must be there in its order.
func missingOf(what string, got, want []any) string {
	lost := ""
	for _, g := range got {
		if len(want) == 0 {
			break
		}
		if lost = missing(what, g, want[0]); lost == "" {
			want = want[1:]
		} else if _, object := g.(map[string]any); !object {
			return lost
		}
	}
	if len(want) == 0 {
		return ""
	}
	return fmt.Sprintf("%s lacks %v: %s", what, want[0], lost)
}

// parse reads JSON, or the YAML of settings.
func parse(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	node, err := yamlfile.Read([]byte(text))
	if err != nil || node == nil {
		t.Fatal(err, text)
	}
	value, err := node.Value()
	v, _ = value.(map[string]any)
	if err != nil || len(v) == 0 {
		t.Fatal(err, text)
	}
	return v
}

// readTokens: the tokens of a file are the same, in clear text and as hashes. So is
// which caller they are of, and what they open.
func readTokens(t *testing.T, r *reader) {
	noon := time.Date(2126, 1, 31, 12, 0, 0, 0, time.UTC)
	want := []access.Token{
		{Secret: "alice-of-the-samples-0123456789"},
		{Secret: "alice-until-2126-0123456789abc", Expires: noon.Add(-12 * time.Hour)},
		{Secret: "alice-until-noon-0123456789abcd", Expires: noon},
	}
	got, err := access.ReadTokens(read(t, r.dir, "settings/plain.token"))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}
	for i := range want {
		want[i].Hash, want[i].Secret = access.HashOf(want[i].Secret), ""
	}
	got, err = access.ReadTokens(read(t, r.dir, "settings/hashed.token"))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v %v", got, err)
	}

	_, upstream := speak(t, "today")
	g := serve(t, today, r.dir, "--config", "gateway/sotto.yaml", "--upstream", upstream.URL, "--data", "data", "--a2a", "--a2a-model", "qwen3")
	for name, status := range map[string]int{"alice": http.StatusOK, "bob": http.StatusForbidden, "nobody": http.StatusUnauthorized} {
		token := r.sample.Tokens[name]
		if token == "" {
			token = "a-token-of-nobody-0123456789"
		}
		if got, text := ask(t, g.base+"/metrics", token, ""); got != status {
			t.Errorf("the metrics for %s: %d %s", name, got, text)
		}
		status = min(status, http.StatusUnauthorized)
		if name == "bob" {
			status = http.StatusOK // models is one of the scopes
		}
		if got, text := ask(t, g.base+"/v1/chat/completions", token, chat("qwen3", question)); got != status {
			t.Errorf("a reply for %s: %d %s", name, got, text)
		}
	}
}

// readSettings: all settings are accepted, and have the same values.
func readSettings(t *testing.T, r *reader) {
	got := run(t, today, filepath.Join(r.dir, "settings"), "serve", "--config", "sotto.yaml", "--check")
	keeps(t, "sotto.yaml", parse(t, got), parse(t, read(t, r.dir, "settings.want.yaml")))
}

// readData: a gateway starts with the data folder, and what each part had is there.
func readData(t *testing.T, r *reader) {
	s, upstream := speak(t, "today")
	old, now := strings.TrimPrefix(r.sample.Upstream, "http://"), strings.TrimPrefix(upstream.URL, "http://")
	starts := strings.ReplaceAll(read(t, r.dir, "data/starts.json"), old, now)
	write(t, starts, r.dir, "data/starts.json")
	// That replies began outside, the program of then could learn from replies that show
	// nothing. So this is not believed.
	believed := regexp.MustCompile(`"outside",?\s*`).ReplaceAllString(starts, "")
	keeps(t, "learned", parse(t, run(t, today, r.dir, "serve", "--learned", "--json", "--data", "data")), parse(t, believed))
	run(t, today, r.dir, "data", "verify", "data")

	g := serve(t, today, r.dir, "--config", "gateway/sotto.yaml", "--upstream", upstream.URL, "--data", "data", "--console", "--a2a", "--a2a-model", "qwen3")
	alice := r.sample.Tokens["alice"]
	decides(t, alice, g.base)
	if heard := s.heard(); !strings.Contains(heard, "Go on") {
		t.Errorf("the upstream was asked %s", heard)
	}
	reply := must(t, g.base+"/v1/chat/completions", alice, chat("agent/clerk", "And now?"), "Sotto-Conversation", "colours")
	if id := gjson.Get(reply, "id").Str; !strings.HasSuffix(id, ".3") {
		t.Errorf("this is not the third turn of the conversation: %s", reply)
	}
	shown := must(t, g.console+"/chat/"+r.sample.Talk+"?format=json", alice, "")
	if !strings.Contains(shown, question) || !strings.Contains(shown, said) {
		t.Errorf("the console shows %s", shown)
	}
	g.stop()
	run(t, today, r.dir, "data", "verify", "data")
}

// decides asks for a reply that does not show how it began: it is reasoning only to a
// gateway that has learned how replies of the model begin.
func decides(t *testing.T, token, base string) {
	t.Helper()
	reply := must(t, base+"/v1/chat/completions", token, chat("qwq", question, said, "Go on"))
	if m := gjson.Get(reply, "choices.0.message"); m.Get("reasoning_content").Str != bare {
		t.Errorf("it was not learned that replies begin inside a thought: %s", reply)
	}
}

// readStarts: the file of learned starts says the same, except that replies began outside.
func readStarts(t *testing.T, r *reader) {
	l, err := gateway.OpenLearned(filepath.Join(r.dir, "data"), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range l.Starts() {
		got = append(got, s.Upstream+" "+s.Model+" "+s.Start()+" "+s.Native)
	}
	at := strings.TrimPrefix(r.sample.Upstream, "http://")
	if want := []string{at + " agent/clerk  reasoning_content", at + " qwen3  -", at + " qwq inside -"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// readConversations: the conversations in the data folder are those of their caller.
func readConversations(t *testing.T, r *reader) {
	s := &conversation.Store{Folder: filepath.Join(r.dir, "data", "conversations")}
	conversations(t, s)
}

// conversations looks for the conversation with the agent. The console has others.
func conversations(t *testing.T, s *conversation.Store) {
	t.Helper()
	turn, err := s.Begin(conversation.Wish{Caller: "alice", Agent: "clerk", Name: "colours"})
	if err != nil {
		t.Fatal(err)
	}
	defer turn.Close()
	var texts []string
	for _, m := range turn.Messages {
		texts = append(texts, m.Text)
	}
	if want := []string{"Remember green.", said, question, said}; !slices.Equal(texts, want) || turn.Memory["colour"] != "green" || turn.Number != 3 {
		t.Errorf("turn %d: %q, want %q; the memory is %v", turn.Number, texts, want, turn.Memory)
	}
	if other, err := s.Begin(conversation.Wish{Caller: "bob", Agent: "clerk", Name: "colours"}); err != nil || len(other.Messages) != 0 {
		t.Errorf("another caller has it: %v", err)
	} else {
		other.Close()
	}
}

// readTasks: a task is shown to its owner, and to nobody else.
func readTasks(t *testing.T, r *reader) {
	file := filepath.Join(r.dir, "data", "a2a.db")
	if _, err := a2aserver.CheckTasks(file); err != nil {
		t.Error(err)
	}
	s, err := a2aserver.New(a2aserver.Config{
		Mind: &a2aserver.ChatMind{Model: &model.Scripted{}}, File: file, Limits: a2aserver.Limits{Keep: ages},
		Tokens: []a2aserver.Token{{Name: "alice", Secret: r.sample.Tokens["alice"]}, {Name: "bob", Secret: r.sample.Tokens["bob"]}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	server := httptest.NewServer(s)
	defer server.Close()
	get := `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"` + r.sample.Task + `"}}`
	shown := must(t, server.URL+"/a2a", r.sample.Tokens["alice"], get)
	if task := gjson.Get(shown, "result"); task.Get("artifacts.0.parts.0.text").Str != said || task.Get("status.state").Str != "TASK_STATE_COMPLETED" {
		t.Errorf("its owner is shown %s", shown)
	}
	if _, shown := ask(t, server.URL+"/a2a", r.sample.Tokens["bob"], get); strings.Contains(shown, said) || !gjson.Get(shown, "error").Exists() {
		t.Errorf("another caller is shown %s", shown)
	}
}

// readRecords: records are verified with their key, and their texts are shown, if they are
// encrypted only with the identity.
func readRecords(t *testing.T, r *reader) {
	for _, name := range []string{"record", "sealed"} {
		out := parse(t, run(t, today, r.dir, "record", "verify", name, "--key", "signing.pub", "--json"))
		if signed, _ := out["signed"].(int); signed < 3 {
			t.Errorf("the report of %s is %v", name, out)
		}
	}
	shown := run(t, today, r.dir, "record", "show", "record")
	opened := run(t, today, r.dir, "record", "show", "sealed", "--identity", "identity.txt")
	for _, text := range []string{thought, said, question} {
		if !strings.Contains(shown, text) || !strings.Contains(opened, text) {
			t.Errorf("%q is not shown of both records:\n%s\n%s", text, shown, opened)
		}
	}
	if shown, _, _ := try(today, r.dir, "record", "show", "sealed"); strings.Contains(shown, said) {
		t.Errorf("without an identity, it shows\n%s", shown)
	}
}

// continueRecord: a gateway of today continues the record.
func continueRecord(t *testing.T, r *reader) {
	_, upstream := speak(t, "today")
	g := serve(t, today, r.dir, "--upstream", upstream.URL, "--data", "new", "--record", "record", "--record-signing-key", "signing.pem")
	must(t, g.base+"/v1/chat/completions", "", chat("qwen3", "Is this new?"))
	g.stop()
	run(t, today, r.dir, "record", "verify", "record", "--key", "signing.pub")
	if shown := run(t, today, r.dir, "record", "show", "record"); !strings.Contains(shown, question) || !strings.Contains(shown, "Is this new?") {
		t.Errorf("the record shows\n%s", shown)
	}
}

// readMemory: a memory has the same nodes.
func readMemory(t *testing.T, r *reader) {
	file := filepath.Join(r.dir, "data", "memory-scripted.db")
	g, err := metagraph.Open(file, metagraph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	size, err := g.Size(t.Context())
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	var got, want []any
	for list, text := range map[*[]any]string{&got: run(t, today, r.dir, "solve", "memory", "export", "--memory", file), &want: read(t, r.dir, "memory.jsonl")} {
		for line := range strings.Lines(text) {
			*list = append(*list, parse(t, line))
		}
	}
	if err != nil || size.Templates == 0 || len(want) == 0 {
		t.Errorf("%v nodes, %v", size, err)
	}
	keeps(t, "memory", got, want)
}

// readStudy: the status and the report of a study are the same, and none of its cells has
// to run again.
func readStudy(t *testing.T, r *reader) {
	keeps(t, "status", parse(t, run(t, today, r.dir, "study", "status", "study", "--json")), parse(t, read(t, r.dir, "study.status.json")))
	report := parse(t, read(t, r.dir, "study.report.json"))
	delete(report, "methods") // how today's program computes intervals, which may change
	keeps(t, "report", parse(t, run(t, today, r.dir, "study", "report", "study", "--json")), report)
	before, err := os.ReadDir(filepath.Join(r.dir, "study", "cells"))
	if err != nil {
		t.Fatal(err)
	}
	if out := run(t, today, r.dir, "study", "study.yaml", "-o", "study", "-q"); !strings.Contains(out, "4 done") || len(before) != 4 {
		t.Errorf("%d cells: %s", len(before), out)
	}
}
