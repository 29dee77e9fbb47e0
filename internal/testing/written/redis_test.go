//go:build unix

package written

import (
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// redisServer starts a redis-server, and returns its address and a connection.
func redisServer(t *testing.T) (string, redis.Conn) {
	t.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command("redis-server", "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--dir", t.TempDir(), "--save", "")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := fmt.Sprintf("redis://127.0.0.1:%d/0", port)
	for range 6000 {
		if c, err := redis.DialURL(address); err == nil {
			t.Cleanup(func() { c.Close() })
			return address, c
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("redis-server does not listen")
	return "", nil
}

// An entry is a key of Redis: a text, the members of a list, or those of a sorted set or
// the fields of a hash, each with its score or value after it.
type entry struct {
	Kind   string   `json:"kind"`
	Values [][]byte `json:"values"`
}

// The commands that read a kind, and that write it.
var readers = map[string][]any{"string": {"GET"}, "hash": {"HGETALL"}, "zset": {"ZRANGE", 0, -1, "WITHSCORES"}, "list": {"LRANGE", 0, -1}}

// dump returns what is in Redis, without locks.
func dump(t *testing.T, c redis.Conn) string {
	t.Helper()
	all := map[string]entry{}
	keys, err := redis.Strings(c.Do("KEYS", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		kind, err := redis.String(c.Do("TYPE", key))
		if err != nil || readers[kind] == nil {
			t.Fatal(key, kind, err)
		}
		args := append([]any{key}, readers[kind][1:]...)
		got, err := c.Do(readers[kind][0].(string), args...)
		e := entry{Kind: kind}
		if kind == "string" {
			var text []byte
			text, err = redis.Bytes(got, err)
			e.Values = [][]byte{text}
		} else {
			e.Values, err = redis.ByteSlices(got, err)
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
	return string(data) + "\n"
}

// load writes what dump returned into Redis.
func load(t *testing.T, c redis.Conn, text string) {
	t.Helper()
	var all map[string]entry
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all) < 3 {
		t.Fatal(len(all), err)
	}
	for key, e := range all {
		var err error
		for i, v := range e.Values {
			switch {
			case e.Kind == "string":
				_, err = c.Do("SET", key, v)
			case e.Kind == "list":
				_, err = c.Do("RPUSH", key, v)
			case i%2 == 1:
			case e.Kind == "hash":
				_, err = c.Do("HSET", key, v, e.Values[i+1])
			default:
				_, err = c.Do("ZADD", key, e.Values[i+1], v)
			}
			if err != nil {
				t.Fatal(key, err)
			}
		}
	}
}
