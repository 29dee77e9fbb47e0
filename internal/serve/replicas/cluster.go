package replicas

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

const (
	// slots is how many a cluster has.
	slots = 1 << 14
	// maxNodes bounds the servers of a cluster.
	maxNodes = 1024
	// maxMoves bounds how often a request is sent on.
	maxMoves = 5
	// learnGap is the time between two questions for the slots, at least.
	learnGap = 200 * time.Millisecond
)

// A cluster knows which server has which slot. All keys of a request are in one slot.
type cluster struct {
	store *Store

	asking sync.Mutex // one goroutine asks for the slots

	mu    sync.Mutex
	nodes map[string]*node // by their address
	slots [slots]*node
	asked time.Time // when the slots were asked for last
	stale bool      // a server was wrong, or failed
}

// slotOf returns the slot of a key: of what is in its first braces, if there is
// something.
func slotOf(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0) // CRC-16/XMODEM
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}

// node returns the server of a slot, or nil if no server of the cluster can be asked.
func (c *cluster) node(ctx context.Context, slot int) *node {
	c.mu.Lock()
	n, wrong := c.slots[slot], c.stale && time.Since(c.asked) > learnGap
	c.mu.Unlock()
	if n != nil && !wrong {
		return n
	}
	c.learn(ctx, n == nil)
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.slots[slot]
}

// learn asks for the slots. If another goroutine asks, it waits for that only if it has
// to.
func (c *cluster) learn(ctx context.Context, wait bool) {
	if wait {
		c.asking.Lock()
	} else if !c.asking.TryLock() {
		return
	}
	defer c.asking.Unlock()
	c.mu.Lock()
	recent := time.Since(c.asked) < learnGap
	if !recent {
		c.asked = time.Now()
	}
	hosts := append([]string{}, c.store.at.hosts...)
	for host := range c.nodes {
		hosts = append(hosts, host)
	}
	c.mu.Unlock()
	if recent {
		return
	}
	for _, host := range hosts {
		part, cancel := context.WithTimeout(ctx, sentinelWait)
		list, err := c.ask(part, host)
		cancel()
		if err == nil {
			c.assign(list)
			return
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// A slotRange is a range of slots and its server.
type slotRange struct {
	first, last int
	host        string
}

// ask asks one server which server has which slot.
func (c *cluster) ask(ctx context.Context, host string) ([]slotRange, error) {
	conn, err := c.store.dial(ctx, host)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	rows, err := redis.Values(redis.DoContext(conn, ctx, "CLUSTER", "SLOTS"))
	if err != nil {
		return nil, err
	}
	var list []slotRange
	all := 0
	for _, row := range rows {
		r, err := slotRangeOf(row, host)
		if err != nil {
			return nil, err
		}
		if all += r.last - r.first + 1; all > slots {
			return nil, errors.New("a slot has two servers")
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil, errors.New("no slot has a server")
	}
	return list, nil
}

// slotRangeOf reads a row: the first and the last slot, and the servers, of which the
// first is the master. A server without a host is that which was asked.
func slotRangeOf(row any, asked string) (r slotRange, err error) {
	parts, err := redis.Values(row, nil)
	if err != nil || len(parts) < 3 {
		return r, errors.New("not a range of slots")
	}
	first, err1 := redis.Int(parts[0], nil)
	last, err2 := redis.Int(parts[1], nil)
	server, err3 := redis.Values(parts[2], nil)
	if err := errors.Join(err1, err2, err3); err != nil || first < 0 || last >= slots || first > last || len(server) < 2 {
		return r, errors.New("not a range of slots")
	}
	host, err := redis.String(server[0], nil)
	if err != nil && !errors.Is(err, redis.ErrNil) {
		return r, err
	}
	port, err := redis.Int(server[1], nil)
	if err != nil {
		return r, err
	}
	if host == "" || host == "?" {
		host, _, _ = net.SplitHostPort(asked)
	}
	return slotRange{first, last, net.JoinHostPort(host, strconv.Itoa(port))}, nil
}

// assign takes over what a server said, and forgets servers that have no slot.
func (c *cluster) assign(list []slotRange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale, c.slots = false, [slots]*node{}
	used := map[string]*node{}
	for _, r := range list {
		n := c.at(r.host)
		if n == nil {
			continue
		}
		used[r.host] = n
		for slot := r.first; slot <= r.last; slot++ {
			c.slots[slot] = n
		}
	}
	for host, n := range c.nodes {
		if used[host] == nil {
			_ = n.pool.Close()
			delete(c.nodes, host)
		}
	}
}

// at returns the server at an address, or nil if there are too many. The cluster is
// locked.
func (c *cluster) at(host string) *node {
	n := c.nodes[host]
	if n == nil && len(c.nodes) < maxNodes {
		n = newNode(c.store.o.Log.With("server", host), func(ctx context.Context) (redis.Conn, error) { return c.store.dial(ctx, host) })
		c.nodes[host] = n
	}
	return n
}

// do runs commands on the server of a slot, and goes where that sends it.
func (c *cluster) do(ctx context.Context, n *node, slot int, commands func(run) error) (err error) {
	asking := false
	for range maxMoves {
		err = n.with(ctx, asking, commands)
		word, host := movedTo(err)
		if word == "" {
			break
		}
		c.mu.Lock()
		next := c.at(host)
		c.stale = true
		if word == "MOVED" && next != nil {
			c.slots[slot] = next
		}
		c.mu.Unlock()
		if next == nil {
			break
		}
		n, asking = next, word == "ASK"
	}
	if err != nil {
		c.doubt()
	}
	return err
}

// doubt lets the next request ask for the slots.
func (c *cluster) doubt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = true
}

// movedTo reads an error such as "MOVED 3999 127.0.0.1:6381".
func movedTo(err error) (word, host string) {
	said, ok := errors.AsType[redis.Error](err)
	if !ok {
		return "", ""
	}
	parts := strings.Fields(string(said))
	if len(parts) != 3 || parts[0] != "MOVED" && parts[0] != "ASK" {
		return "", ""
	}
	if at, _, err := net.SplitHostPort(parts[2]); err != nil || at == "" {
		return "", ""
	}
	return parts[0], parts[2]
}

func (c *cluster) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var list []error
	for _, n := range c.nodes {
		list = append(list, n.pool.Close())
	}
	c.nodes, c.slots = map[string]*node{}, [slots]*node{}
	return errors.Join(list...)
}

var errNoNode = errors.New("no server of the cluster says which of them has the slot")
