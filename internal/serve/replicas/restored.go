package replicas

import (
	"cmp"
	"encoding/base64"

	"github.com/gomodule/redigo/redis"

	"github.com/sotto-llm/sotto/history"
)

// Each script touches the keys of one caller only, whose names have the group in
// braces, so that a cluster keeps them on one node.
var (
	// putScript keeps an entry. KEYS: the value, the list of the caller's entries, the
	// aliases. ARGV: the entry's key, its value, the age in milliseconds, the bound of
	// entries, how names of values begin. An alias that another entry has stands for
	// neither from then on.
	putScript = redis.NewScript(-1, `
local age = tonumber(ARGV[3])
redis.call('SET', KEYS[1], ARGV[2], 'PX', age)
for i = 3, #KEYS do
  local was = redis.call('GET', KEYS[i])
  local now = ARGV[1]
  if was and was ~= now then now = '' end
  redis.call('SET', KEYS[i], now, 'PX', age)
end
local t = redis.call('TIME')
local ms = t[1] * 1000 + math.floor(t[2] / 1000)
redis.call('ZADD', KEYS[2], ms, ARGV[1])
redis.call('PEXPIRE', KEYS[2], age)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ms - age)
local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[4])
if over > 0 then
  local old = redis.call('ZPOPMIN', KEYS[2], over)
  for i = 1, #old, 2 do redis.call('DEL', ARGV[5] .. old[i]) end
end
return 1`)

	// getScript returns the values of keys, as a list. ARGV: the bound of their bytes. A
	// value that would exceed it is left out, as if there were none.
	getScript = redis.NewScript(-1, `
local list, room = {}, tonumber(ARGV[1])
for i, key in ipairs(KEYS) do
  local v = redis.call('GET', key)
  if v and #v <= room then room = room - #v else v = false end
  list[i] = v
end
return list`)
)

// groupName is how the names of a caller's keys begin.
func groupName(group history.Key) string {
	return prefix + "{" + base64.RawURLEncoding.EncodeToString(group[:12]) + "}:"
}

// Put keeps an entry.
func (s *Store) Put(e history.LevelEntry) {
	group := groupName(e.Group)
	args := []any{2 + len(e.Aliases), group + "v:" + name(e.Key), group + "list"}
	for _, a := range e.Aliases {
		args = append(args, group+"a:"+name(a))
	}
	args = append(args, name(e.Key), e.Value, cmp.Or(e.Age, s.o.Age).Milliseconds(), cmp.Or(e.Most, s.o.Entries), group+"v:")
	s.do("put", group, s.o.Write, func(run run) error {
		_, err := run(putScript, args...)
		return err
	})
}

// Get returns the values of keys, nil where there is none. If they are too large
// together, the last ones are left out.
func (s *Store) Get(group history.Key, keys []history.Key) [][]byte {
	list := make([][]byte, len(keys))
	for i, v := range s.all(groupName(group)+"v:", keys) {
		list[i] = v
	}
	return list
}

// Resolve returns the keys of the entries that have the aliases, zero where there is
// none.
func (s *Store) Resolve(group history.Key, aliases []history.Key) []history.Key {
	list := make([]history.Key, len(aliases))
	for i, v := range s.all(groupName(group)+"a:", aliases) {
		if k, err := base64.RawURLEncoding.DecodeString(string(v)); err == nil && len(k) == len(list[i]) {
			list[i] = history.Key(k)
		}
	}
	return list
}

// all returns the values of keys whose names begin alike. It is empty if the server
// cannot be asked.
func (s *Store) all(begin string, keys []history.Key) (values [][]byte) {
	if len(keys) == 0 {
		return nil
	}
	args := []any{len(keys)}
	for _, k := range keys {
		args = append(args, begin+name(k))
	}
	args = append(args, maxAnswer)
	s.do("get", begin, s.o.Read, func(run run) error {
		list, err := redis.ByteSlices(run(getScript, args...))
		if err == nil && len(list) == len(keys) {
			values = list
		}
		return err
	})
	return values
}
