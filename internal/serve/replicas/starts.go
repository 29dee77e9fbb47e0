package replicas

import (
	"bytes"
	"context"
	"encoding/base64"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/sotto-llm/sotto/history"
)

const (
	startsKey     = prefix + "starts"
	startsChannel = prefix + "starts"

	// changes is how often a change is tried that others change at the same time.
	changes = 64
	// pings is how often a connection that only listens is tried.
	pings = 10 * time.Second
	// maxValue bounds the value of a field.
	maxValue = 64 << 10
)

var (
	// loadScript returns all fields and values. ARGV: the bound of their bytes.
	loadScript = redis.NewScript(1, `
local all, list, room = redis.call('HGETALL', KEYS[1]), {}, tonumber(ARGV[1])
for i = 1, #all, 2 do
  room = room - #all[i] - #all[i + 1]
  if room < 0 or i > 2 * tonumber(ARGV[2]) then break end
  list[i], list[i + 1] = all[i], all[i + 1]
end
return list`)

	readScript = redis.NewScript(1, `return redis.call('HGET', KEYS[1], ARGV[1])`)

	// changeScript replaces the value of a field if it is still the old one, and tells
	// the replicas. ARGV: the field, the old value ('' for none), the new one, the bound
	// of fields. Where there are too many, any other field is dropped.
	changeScript = redis.NewScript(1, `
local was = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if was ~= ARGV[2] then return 0 end
if was == '' and redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[4]) then
  redis.call('HDEL', KEYS[1], redis.call('HRANDFIELD', KEYS[1]))
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('PUBLISH', '`+startsChannel+`', ARGV[1] .. ' ' .. ARGV[3])
return 1`)
)

// Change replaces the value of a field.
func (s *Store) Change(field history.Key, change func(old []byte) []byte) {
	s.do("change", startsKey, s.o.Write, func(run run) error {
		for range changes {
			old, err := redis.Bytes(run(readScript, startsKey, name(field)))
			if err != nil && err != redis.ErrNil {
				return err
			}
			value := change(old)
			if len(value) > maxValue {
				return nil
			}
			done, err := redis.Bool(run(changeScript, startsKey, name(field), old, value, s.o.Starts))
			if done || err != nil {
				return err
			}
		}
		return nil // others change it all the time: they saw the same upstream
	})
}

// Follow calls seen with the fields that there are, and then with each that somebody
// changes.
func (s *Store) Follow(ctx context.Context, seen func(field history.Key, value []byte), ready func()) {
	told := false
	for wait := firstRest; ctx.Err() == nil; wait = min(2*wait, longestRest) {
		n, err := s.follow(ctx, seen, func() {
			wait = firstRest
			if !told {
				told = true
				ready()
			}
		})
		if err != nil && ctx.Err() == nil {
			n.settle(err)
			if s.cluster != nil {
				s.cluster.doubt()
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// follow listens on a connection, until it breaks, and returns the server. Any server of
// a cluster passes on what was published on another one.
func (s *Store) follow(ctx context.Context, seen func(history.Key, []byte), ready func()) (n *node, err error) {
	dial, cancel := context.WithTimeout(ctx, dialWait)
	defer cancel()
	n = s.node(dial, startsKey)
	c, err := n.pool.DialContext(dial)
	if err != nil {
		return n, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	listen := redis.PubSubConn{Conn: c}
	if err := listen.Subscribe(startsChannel); err != nil {
		return n, err
	}
	if err, failed := listen.ReceiveContext(dial).(error); failed {
		return n, err
	}
	if err := s.load(dial, seen); err != nil { // after subscribing, so that nothing is missed
		return n, err
	}
	ready()
	ticker := time.NewTicker(pings)
	defer ticker.Stop()
	stop := make(chan struct{})
	defer close(stop)
	go func() { // without an answer the connection is broken
		for {
			select {
			case <-ticker.C:
				_ = listen.Ping("")
			case <-stop:
				return
			}
		}
	}()
	for {
		switch m := listen.ReceiveWithTimeout(2 * pings).(type) {
		case redis.Message:
			if text, value, ok := bytes.Cut(m.Data, []byte(" ")); ok {
				see(seen, text, value)
			}
		case error:
			return n, m
		}
	}
}

// load calls seen with the fields that there are.
func (s *Store) load(ctx context.Context, seen func(history.Key, []byte)) error {
	var list [][]byte
	err := s.on(ctx, s.node(ctx, startsKey), "starts", startsKey, func(run run) (err error) {
		list, err = redis.ByteSlices(run(loadScript, startsKey, maxAnswer, min(s.o.Starts, maxItems/2)))
		return err
	})
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(list); i += 2 {
		see(seen, list[i], list[i+1])
	}
	return nil
}

func see(seen func(history.Key, []byte), text, value []byte) {
	var field history.Key
	k, err := base64.RawURLEncoding.DecodeString(string(text))
	if err == nil && len(k) == len(field) && len(value) <= maxValue {
		seen(history.Key(k), value)
	}
}
