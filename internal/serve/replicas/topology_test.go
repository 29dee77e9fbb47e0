package replicas

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/history"
	"github.com/sotto-llm/sotto/internal/agents/conversation"
	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/testing/redisserver"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
	"github.com/sotto-llm/sotto/model"
)

// startSentinel starts a sentinel that watches a master.
func startSentinel(t *testing.T, master *redisserver.Server, quorum int) *redisserver.Server {
	t.Helper()
	s := redisserver.New(t)
	file := filepath.Join(s.Dir, "sentinel.conf")
	text := fmt.Sprintf("sentinel monitor mymaster 127.0.0.1 %d %d\nsentinel down-after-milliseconds mymaster 500\nsentinel failover-timeout mymaster 3000\n", master.Port, quorum)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Before = []string{file, "--sentinel"}
	s.Start()
	return s
}

// sentinelURL is the address of a store behind sentinels. The first one is not there.
func sentinelURL(list ...*redisserver.Server) string {
	hosts := []string{"127.0.0.1:1"}
	for _, s := range list {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", s.Port))
	}
	return "redis+sentinel://" + strings.Join(hosts, ",") + "/mymaster"
}

// startNodes starts the servers of a cluster.
func startNodes(t *testing.T, n int) (list []*redisserver.Server) {
	t.Helper()
	for range n {
		s := redisserver.New(t)
		s.Options = []string{"--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "1000", "--cluster-require-full-coverage", "no"}
		s.Start()
		list = append(list, s)
	}
	return list
}

func clusterURL(list ...*redisserver.Server) string {
	var hosts []string
	for _, s := range list {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", s.Port))
	}
	return "redis+cluster://" + strings.Join(hosts, ",")
}

// election is how long servers may take to agree on a master, on a busy machine too.
const election = 3 * time.Minute

// soon tries so many times at most: a store that lost its server may need some requests to
// find the next one, and no more.
func soon(t *testing.T, attempts int, what string, try func() error) {
	t.Helper()
	for n := 1; ; n++ {
		err := try()
		if err == nil {
			if n > 1 {
				t.Logf("%s: %d attempts", what, n)
			}
			return
		}
		if n == attempts {
			t.Fatalf("%s, after %d attempts: %v", what, attempts, err)
		}
	}
}

// turn makes one turn of a caller's conversation, which must have so many before it.
func turn(s *conversation.Store, caller string, before int) error {
	x, err := s.Begin(conversation.Wish{Caller: caller, Agent: "a", Name: "n"})
	if err != nil {
		return err
	}
	defer x.Close()
	if len(x.Messages) != before {
		return fmt.Errorf("%d messages, want %d", len(x.Messages), before)
	}
	return x.Commit([]conversation.Message{{Role: model.User, Text: "?"}}, nil)
}

// remembers puts an entry and gets it, for a caller.
func remembers(s *Store, caller byte) error {
	group, key := history.Key{caller}, history.Key{caller, 1}
	s.Put(history.LevelEntry{Group: group, Key: key, Aliases: []history.Key{{caller, 2}}, Value: []byte("v")})
	if got := s.Get(group, []history.Key{key}); string(got[0]) != "v" {
		return fmt.Errorf("got %q", got)
	}
	if got := s.Resolve(group, []history.Key{{caller, 2}}); got[0] != key {
		return fmt.Errorf("resolved %v", got)
	}
	return nil
}

// tells reports whether what one replica learns reaches another one.
func tells(t *testing.T, from, to *Store) {
	t.Helper()
	heard := make(chan string, 100)
	ready := make(chan struct{})
	var done sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	done.Go(func() {
		to.Follow(ctx, func(_ history.Key, v []byte) { heard <- string(v) }, func() { close(ready) })
	})
	defer func() { stop(); done.Wait() }()
	<-ready
	value := strconv.FormatInt(time.Now().UnixNano(), 36)
	from.Change(history.Key{7}, func([]byte) []byte { return []byte(value) })
	for end := time.After(time.Minute); ; {
		select {
		case got := <-heard:
			if got == value {
				return
			}
		case <-end:
			t.Fatal("not heard")
		}
	}
}

// TestSentinel: sentinels say which server is the master. One that is not there, or
// names a server that is not a master, is passed over.
func TestSentinel(t *testing.T) {
	master, other := redisserver.Run(t), redisserver.Run(t)
	other.Command("REPLICAOF", "127.0.0.1", strconv.Itoa(master.Port))
	wrong, right := startSentinel(t, other, 1), startSentinel(t, master, 1)
	a, b := open(t, sentinelURL(wrong, right), patient), open(t, sentinelURL(right), patient)
	if err := remembers(a, 1); err != nil {
		t.Error(err)
	}
	tells(t, a, b)
	if n := master.Command("DBSIZE"); n == "0" {
		t.Error("the master has no keys")
	}
	s := open(t, strings.Replace(sentinelURL(right), "mymaster", "another", 1), patient)
	if err := s.Lock(place(1), "h", time.Second); !errors.Is(err, conversation.ErrUnreachable) || !strings.Contains(err.Error(), `no master "another"`) {
		t.Error(err)
	}
	evil := serveHostile(t, "*2147483647\r\n", ":1\r\n")
	s = open(t, "redis+sentinel://"+evil.Addr().String()+"/mymaster", patient)
	if err := s.Lock(place(1), "h", time.Second); !errors.Is(err, conversation.ErrUnreachable) || !errors.Is(err, errReply) {
		t.Error(err)
	}
}

// TestFailover: the master dies. The sentinels make its replica the master, and the
// replicas of the gateway go on there with all that they had. The old one comes back and
// changes nothing.
func TestFailover(t *testing.T) {
	if effort.Brief() {
		t.Skip("waits for sentinels: needs SOTTO_EFFORT")
	}
	master, other := redisserver.Run(t), redisserver.Run(t)
	other.Command("REPLICAOF", "127.0.0.1", strconv.Itoa(master.Port))
	var sentinels []*redisserver.Server
	for range 3 {
		sentinels = append(sentinels, startSentinel(t, master, 2))
	}
	waiting.Within(t, election, "sentinels that know each other", func() error {
		for _, s := range sentinels {
			if out := s.Command("SENTINEL", "ckquorum", "mymaster"); !strings.Contains(out, "3 usable") {
				return errors.New(out)
			}
			if out := s.Command("SENTINEL", "replicas", "mymaster"); !strings.Contains(out, strconv.Itoa(other.Port)) {
				return errors.New("no replica")
			}
		}
		return nil
	})
	var stores [2]*Store
	var talks [2]*conversation.Store
	for i := range stores {
		stores[i] = open(t, sentinelURL(sentinels...), patient)
		talks[i] = &conversation.Store{}
		if err := talks[i].Share(stores[i], secret); err != nil {
			t.Fatal(err)
		}
	}
	turns := 0
	for ; turns < 10; turns++ {
		if err := turn(talks[turns%2], "ann", turns); err != nil {
			t.Fatal(err)
		}
	}
	waiting.For(t, "all at the replica", func() error {
		if n := master.Command("WAIT", "1", "1000"); n != "1" {
			return errors.New(n)
		}
		return nil
	})
	master.Kill()
	waiting.Within(t, election, "sentinels that agree", func() error {
		for _, s := range sentinels {
			if out := s.Command("SENTINEL", "masters"); !strings.Contains(out, strconv.Itoa(other.Port)) || strings.Contains(out, "failover_in_progress") {
				return errors.New(out)
			}
		}
		return nil
	})
	// Each store finds the new master by its next requests.
	for range talks {
		soon(t, 3, "the next turn", func() error { return turn(talks[turns%2], "ann", turns) })
		turns++
	}
	master.Start() // as a master, until the sentinels make it a replica, which they may put off for minutes
	for ; turns < 30; turns++ {
		soon(t, 3, "a turn", func() error { return turn(talks[turns%2], "ann", turns) })
	}
	soon(t, 3, "an entry", func() error { return remembers(stores[0], 1) })
	tells(t, stores[0], stores[1])
}

// TestSlots are keys and slots from the specification of Redis Cluster, and what is in
// braces.
func TestSlots(t *testing.T) {
	for key, want := range map[string]int{"123456789": 0x31c3, "foo": 12182, "{foo}:a": 12182, "x{foo}{bar}": 12182, "": 0} {
		if got := slotOf(key); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
	if slotOf("{}foo") == slotOf("{}bar") || slotOf("{foo") == slotOf("{bar") {
		t.Error("an empty tag counts")
	}
}

// TestOneNode: a cluster of one server works, and one whose servers cannot be asked is
// down.
func TestOneNode(t *testing.T) {
	nodes := startNodes(t, 1)
	nodes[0].Command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
	a, b := open(t, "redis+cluster://127.0.0.1:1,"+strings.TrimPrefix(clusterURL(nodes...), "redis+cluster://"), patient), open(t, clusterURL(nodes...), patient)
	waiting.Within(t, election, "the cluster", func() error { return remembers(a, 1) })
	tells(t, a, b)
	talks := &conversation.Store{}
	if err := talks.Share(a, secret); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if err := turn(talks, "ann", n); err != nil {
			t.Error(err)
		}
	}
	for _, answer := range []string{
		"*1\r\n*3\r\n:0\r\n:16384\r\n*2\r\n$1\r\na\r\n:1\r\n", "*1\r\n*3\r\n:-1\r\n:5\r\n*2\r\n$1\r\na\r\n:1\r\n", "*1\r\n:1\r\n", "*0\r\n", "*2\r\n" + strings.Repeat("*3\r\n:0\r\n:16383\r\n*2\r\n$1\r\na\r\n:1\r\n", 2), "*1\r\n*3\r\n:0\r\n:1\r\n*0\r\n", "$2147483647\r\n",
	} {
		s := open(t, "redis+cluster://"+serveHostile(t, "+OK\r\n"+answer, "").Addr().String(), patient)
		if err := s.Lock(place(1), "h", time.Second); !errors.Is(err, conversation.ErrUnreachable) {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

// TestCluster: the keys of callers are on three servers. Slots move to another server
// while turns are made, and a server dies: only the callers whose keys it had notice.
func TestCluster(t *testing.T) {
	if effort.Brief() {
		t.Skip("waits for a cluster: needs SOTTO_EFFORT")
	}
	nodes := startNodes(t, 3)
	args := []string{"--cluster", "create"}
	for _, n := range nodes {
		args = append(args, fmt.Sprintf("127.0.0.1:%d", n.Port))
	}
	cli := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("redis-cli", append(args, "--cluster-yes")...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	cli(args...)
	s := open(t, clusterURL(nodes...), patient)
	talks := &conversation.Store{}
	if err := talks.Share(s, secret); err != nil {
		t.Fatal(err)
	}
	const callers = 24
	turns := 0
	round := func() {
		t.Helper()
		for c := range callers {
			soon(t, 5, fmt.Sprint("caller ", c), func() error { return turn(talks, fmt.Sprint(c), turns) })
			soon(t, 5, fmt.Sprint("entry ", c), func() error { return remembers(s, byte(c+1)) })
		}
		turns++
	}
	waiting.Within(t, election, "servers that agree", func() error {
		for _, n := range nodes {
			if out := n.Command("CLUSTER", "INFO"); !strings.Contains(out, "cluster_state:ok") {
				return errors.New(out)
			}
		}
		return nil
	})
	round()
	for i, n := range nodes {
		if size, err := strconv.Atoi(n.Command("DBSIZE")); err != nil || size == 0 {
			t.Errorf("server %d has %d keys", i, size)
		}
	}
	tells(t, s, open(t, clusterURL(nodes[1:]...), patient))

	from, to := nodes[0].Command("CLUSTER", "MYID"), nodes[1].Command("CLUSTER", "MYID")
	var moving sync.WaitGroup
	moving.Go(func() {
		out, err := exec.Command("redis-cli", "--cluster", "reshard", fmt.Sprintf("127.0.0.1:%d", nodes[0].Port), "--cluster-from", from, "--cluster-to", to, "--cluster-slots", "5000", "--cluster-yes").CombinedOutput()
		if err != nil {
			t.Errorf("%v: %s", err, out[max(0, len(out)-500):])
		}
	})
	for range 5 {
		round()
	}
	moving.Wait()
	round()

	nodes[2].Kill()
	lost, kept := 0, 0
	for c := range callers {
		switch err := turn(talks, fmt.Sprint(c), turns); {
		case err == nil:
			kept++
		case errors.Is(err, conversation.ErrUnreachable):
			lost++
		default:
			t.Error(err)
		}
	}
	if lost == 0 || kept == 0 || lost+kept != callers {
		t.Errorf("%d callers lost, %d kept", lost, kept)
	}
	if slotOf(startsKey) >= 10923 {
		t.Error("the learned starts are on the server that was killed")
	}
	tells(t, s, open(t, clusterURL(nodes...), patient))
	nodes[2].Start()
	waiting.Within(t, election, "the server that came back", func() error {
		for c := range callers {
			if err := remembers(s, byte(c+1)); err != nil {
				return err
			}
		}
		return nil
	})
}
