//go:build unix

package replicas_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/testing/redisserver"
)

var update = flag.Bool("update", false, "write testdata/shared.json: what this version leaves in Redis")

// leftShared is what the first version that promised it left in Redis. It stays as it is: a
// newer form of entries gets a file of its own.
const leftShared = "testdata/shared.json"

// replica starts a gateway of a program that restores reasoning and shares it.
func replica(t *testing.T, program, model, shared string) *gatewayProcess {
	t.Helper()
	return launch(t, program, "--upstream", model, "--shared", shared, "--history", "restore", "--start", "outside", "--data", t.TempDir())
}

// turn sends messages, and returns the answer: what the upstream was asked with.
func (g *gatewayProcess) turn(t *testing.T, messages string) string {
	t.Helper()
	resp, err := http.Post(g.base+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"qwen3","stream":true,"messages":`+messages+`}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, _ := strings.CutPrefix(lines.Text(), "data: ")
		text.WriteString(gjson.Get(data, "choices.0.delta.content").Str)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	http.DefaultClient.CloseIdleConnections()
	return text.String()
}

const (
	firstTurn = `[{"role":"user","content":"hi"}]`
	nextTurn  = `[{"role":"user","content":"hi"},{"role":"assistant","content":"hi"},{"role":"user","content":"now"}]`
)

// TestVersions: a gateway restores the reasoning that an older version has left in Redis, and
// the other way round. The older version is a file, and in SOTTO_OLD, if it is set, a program
// (.ci/long versions).
func TestVersions(t *testing.T) {
	model := httptest.NewServer(&speaker{waiting: map[string]chan struct{}{}, asked: make(chan string, 1)})
	defer model.Close()
	type pair struct{ name, writes, reads string }
	pairs := []pair{{"none", "", os.Args[0]}, {"file", leftShared, os.Args[0]}}
	if old := os.Getenv("SOTTO_OLD"); old != "" {
		pairs = append(pairs, pair{"old, new", old, os.Args[0]}, pair{"new, old", os.Args[0], old})
	}
	for _, tt := range pairs {
		t.Run(tt.name, func(t *testing.T) {
			server := redisserver.Run(t)
			address := server.Address()
			c, err := redis.DialURL(address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			switch {
			case tt.writes == leftShared && *update:
				if got := replica(t, tt.reads, model.URL, address).turn(t, firstTurn); got != "hi" {
					t.Fatal(got)
				}
				keep(t, c)
				server.Command("FLUSHALL")
				load(t, c)
			case tt.writes == leftShared:
				load(t, c)
			case tt.writes != "":
				if got := replica(t, tt.writes, model.URL, address).turn(t, firstTurn); got != "hi" {
					t.Fatal(got)
				}
			}
			want := "hi|a thought|now"
			if tt.writes == "" {
				want = "hi|now"
			}
			if got := replica(t, tt.reads, model.URL, address).turn(t, nextTurn); got != want {
				t.Errorf("the upstream was asked with %q, want %q", got, want)
			}
		})
	}
}

// An entry is a key of Redis: a text, the members of a sorted set, or the fields and values
// of a hash in turn.
type entry struct {
	Text []byte   `json:"text,omitempty"`
	Set  []string `json:"set,omitempty"`
	Hash [][]byte `json:"hash,omitempty"`
}

// keep writes what is in Redis to the file.
func keep(t *testing.T, c redis.Conn) {
	t.Helper()
	all := map[string]entry{}
	keys, err := redis.Strings(c.Do("KEYS", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		var e entry
		kind, err := redis.String(c.Do("TYPE", key))
		switch {
		case err != nil:
		case kind == "string":
			e.Text, err = redis.Bytes(c.Do("GET", key))
		case kind == "zset":
			e.Set, err = redis.Strings(c.Do("ZRANGE", key, 0, -1))
		case kind == "hash":
			e.Hash, err = redis.ByteSlices(c.Do("HGETALL", key))
		default:
			err = fmt.Errorf("a %s is not kept", kind)
		}
		if err != nil {
			t.Fatal(key, err)
		}
		all[key] = e
	}
	data, err := json.MarshalIndent(all, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll("testdata", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(leftShared, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// load writes the file into Redis.
func load(t *testing.T, c redis.Conn) {
	t.Helper()
	data, err := os.ReadFile(leftShared)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]entry
	if err := json.Unmarshal(data, &all); err != nil || len(all) < 3 {
		t.Fatal(len(all), err)
	}
	for key, e := range all {
		err := error(nil)
		if e.Text != nil {
			_, err = c.Do("SET", key, e.Text)
		}
		for i, member := range e.Set {
			_, err = c.Do("ZADD", key, i, member)
		}
		for i := 0; i+1 < len(e.Hash); i += 2 {
			_, err = c.Do("HSET", key, e.Hash[i], e.Hash[i+1])
		}
		if err != nil {
			t.Fatal(key, err)
		}
	}
}
