package replicas

import (
	"encoding/base64"
	"net"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Consoles of the replicas are entries of one hash, and the times of the entries, by the clock
// of the server, are in a sorted set. Both have one hash tag, so that a script may use both.
const (
	consolesKey   = prefix + "{consoles}"
	consolesTimes = prefix + "{consoles}:times"
	// maxConsole bounds an entry, and maxConsoles how many are read.
	maxConsole  = 8 << 10
	maxConsoles = 256
)

var (
	// enterScript adds an entry, and drops those that are old and those that are too many.
	// KEYS: the hash, the times. ARGV: the name, the entry, how long entries are kept in ms,
	// how many there may be.
	enterScript = redis.NewScript(2, `
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], now, ARGV[1])
local function drop(list)
  for _, name in ipairs(list) do
    redis.call('HDEL', KEYS[1], name)
    redis.call('ZREM', KEYS[2], name)
  end
end
drop(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[3]))
local over = redis.call('ZCARD', KEYS[2]) - ARGV[4]
if over > 0 then drop(redis.call('ZRANGE', KEYS[2], 0, over - 1)) end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 1`)
)

// Enter adds an entry of a console, or replaces it. Entries that nobody replaced for the time
// keep are dropped, and of more than most the oldest.
func (s *Store) Enter(of [32]byte, entry []byte, keep time.Duration, most int) error {
	return s.try("console_enter", consolesKey, s.o.Read, func(run run) error {
		_, err := run(enterScript, consolesKey, consolesTimes, name(of), entry, keep.Milliseconds(), most)
		return err
	})
}

// Entries returns the entries of all consoles.
func (s *Store) Entries() (map[[32]byte][]byte, error) {
	entries := map[[32]byte][]byte{}
	err := s.try("console_entries", consolesKey, s.o.Read, func(run run) error {
		list, err := redis.ByteSlices(run(loadScript, consolesKey, maxConsoles*maxConsole, maxConsoles))
		for i := 0; err == nil && i+1 < len(list); i += 2 {
			of, fault := base64.RawURLEncoding.DecodeString(string(list[i]))
			if fault == nil && len(of) == 32 && len(list[i+1]) <= maxConsole {
				entries[[32]byte(of)] = list[i+1]
			}
		}
		return err
	})
	return entries, err
}

// Here is the address of this machine from which the store was reached last; nil if it was not.
func (s *Store) Here() net.IP {
	ip := s.here.Load()
	if ip == nil {
		return nil
	}
	return *ip
}

// reached notes from where a connection to a server began.
func (s *Store) reached(c net.Conn) {
	if at, ok := c.LocalAddr().(*net.TCPAddr); ok {
		s.here.Store(&at.IP)
	}
}
