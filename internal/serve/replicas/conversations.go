package replicas

import (
	"crypto/sha1" // the digest that scripts have
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/sotto-llm/sotto/internal/agents/conversation"
)

var _ conversation.Level = (*Store)(nil)

// The names of a conversation's keys begin as those of all keys of the caller. Then
// come c: and the conversation, for the list of its values; or l: and the conversation,
// for the holder of its lock; or index, sizes and names, for the last change, the bytes
// and the sealed name of each conversation. The bytes of all are in the field * of the
// sizes.
const dropFunction = `
local function drop(name)
  local size = tonumber(redis.call('HGET', KEYS[4], name) or 0)
  redis.call('DEL', ARGV[1] .. 'c:' .. name)
  redis.call('ZREM', KEYS[3], name)
  redis.call('HDEL', KEYS[4], name)
  redis.call('HDEL', KEYS[5], name)
  if size > 0 then redis.call('HINCRBY', KEYS[4], '*', string.format('%d', -size)) end
end
`

var (
	// lockScript takes a lock or renews it. KEYS: the lock. ARGV: the holder, the time in
	// milliseconds.
	lockScript = redis.NewScript(1, `
local was = redis.call('GET', KEYS[1])
if was and was ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`)

	unlockScript = redis.NewScript(1, `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1`)

	// readFromScript returns values from one on. ARGV: its number, the bound of their bytes.
	readFromScript = redis.NewScript(1, `
local list, room, at = {}, tonumber(ARGV[2]), tonumber(ARGV[1])
while #list < 1000 do
  local v = redis.call('LINDEX', KEYS[1], at)
  if not v or #v > room then break end
  room = room - #v
  at = at + 1
  list[#list + 1] = v
end
return list`)

	// appendScript adds values. KEYS: the values, the lock, the index, the sizes, the names.
	// ARGV: how names begin, the conversation, the holder, how many values it has seen,
	// the digest of the last one, the age in milliseconds, the bounds of number and bytes,
	// the sealed name, the values. Of a conversation that begins, the oldest of the caller
	// make room.
	appendScript = redis.NewScript(5, dropFunction+`
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= ARGV[3] then return 'lost' end
local function last()
  local v = redis.call('LINDEX', KEYS[1], -1)
  return v and redis.sha1hex(v) or ''
end
local seen, count = tonumber(ARGV[4]), redis.call('LLEN', KEYS[1])
if count == seen + #ARGV - 9 and last() == redis.sha1hex(ARGV[#ARGV]) then return 'ok' end
if count ~= seen or last() ~= ARGV[5] then return 'lost' end

local own, age = ARGV[2], tonumber(ARGV[6])
local t = redis.call('TIME')
local ms = t[1] * 1000 + math.floor(t[2] / 1000)
local bytes = 0
for i = 10, #ARGV do bytes = bytes + #ARGV[i] end
if count == 0 then
  drop(own)
  for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', ms - age, 'LIMIT', 0, 100)) do drop(name) end
  local function full()
    return redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[7]) or tonumber(redis.call('HGET', KEYS[4], '*') or 0) + bytes > tonumber(ARGV[8])
  end
  for _, name in ipairs(redis.call('ZRANGE', KEYS[3], 0, 99)) do
    if not full() then break end
    if redis.call('EXISTS', ARGV[1] .. 'l:' .. name) == 0 then drop(name) end
  end
  if full() then return 'full' end
end
for i = 10, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[i]) end
redis.call('ZADD', KEYS[3], ms, own)
redis.call('HINCRBY', KEYS[4], own, bytes)
redis.call('HINCRBY', KEYS[4], '*', bytes)
redis.call('HSET', KEYS[5], own, ARGV[9])
for i = 1, 5 do
  if i ~= 2 then redis.call('PEXPIRE', KEYS[i], age) end
end
return 'ok'`)

	// removeScript removes a conversation. KEYS and the begin of ARGV as above.
	removeScript = redis.NewScript(5, dropFunction+`
if redis.call('EXISTS', KEYS[2]) == 1 then return 'busy' end
local was = redis.call('EXISTS', KEYS[1])
drop(ARGV[2])
return was == 1 and 'ok' or 'none'`)

	// listScript returns a page of conversations: each with its last change, its bytes and
	// its sealed name. KEYS as above. ARGV: how names begin, the first, the last.
	listScript = redis.NewScript(5, `
local list = {}
for _, name in ipairs(redis.call('ZREVRANGE', KEYS[3], ARGV[2], ARGV[3])) do
  local gone = redis.call('EXISTS', ARGV[1] .. 'c:' .. name) == 0
  list[#list + 1] = name
  list[#list + 1] = redis.call('ZSCORE', KEYS[3], name)
  list[#list + 1] = redis.call('HGET', KEYS[4], name) or '0'
  list[#list + 1] = not gone and redis.call('HGET', KEYS[5], name) or ''
end
return list`)
)

const (
	// listPage is how many conversations are listed at once, and maxListed how many
	// are listed at most.
	listPage  = 1000
	maxListed = 100_000
)

// ask runs commands for a conversation. It tries even while the server is left alone,
// since nothing else has the conversations.
func (s *Store) ask(operation string, group conversation.Key, commands func(run) error) error {
	if err := s.try(operation, groupName(group), s.o.Keep, commands); err != nil {
		return fmt.Errorf("%w: %w", conversation.ErrUnreachable, err)
	}
	return nil
}

// word runs a script that answers with a word.
func (s *Store) word(operation string, at conversation.Place, script *redis.Script, args ...any) (word string, err error) {
	err = s.ask(operation, at.Group, func(run run) error {
		word, err = redis.String(run(script, args...))
		return err
	})
	return word, err
}

// keysOf are the arguments of a script that begin with the five keys of a conversation,
// and how their names begin.
func keysOf(at conversation.Place, more ...any) []any {
	group, key := groupName(at.Group), name(at.Key)
	return append([]any{group + "c:" + key, group + "l:" + key, group + "index", group + "sizes", group + "names", group}, more...)
}

// Lock takes the lock of a conversation, or renews it.
func (s *Store) Lock(at conversation.Place, holder string, lease time.Duration) error {
	free := false
	err := s.ask("lock", at.Group, func(run run) (err error) {
		free, err = redis.Bool(run(lockScript, groupName(at.Group)+"l:"+name(at.Key), holder, lease.Milliseconds()))
		return err
	})
	if err == nil && !free {
		err = conversation.ErrBusy
	}
	return err
}

// Unlock gives the lock back.
func (s *Store) Unlock(at conversation.Place, holder string) {
	_ = s.ask("unlock", at.Group, func(run run) error {
		_, err := run(unlockScript, groupName(at.Group)+"l:"+name(at.Key), holder)
		return err
	})
}

// Load returns the values of a conversation from one on.
func (s *Store) Load(at conversation.Place, first int) (values [][]byte, err error) {
	err = s.ask("load", at.Group, func(run run) error {
		values, err = redis.ByteSlices(run(readFromScript, groupName(at.Group)+"c:"+name(at.Key), first, maxAnswer))
		return err
	})
	return values, err
}

// Append adds values to a conversation.
func (s *Store) Append(at conversation.Place, holder string, a conversation.Addition) error {
	digest := ""
	if a.After > 0 {
		digest = fmt.Sprintf("%x", sha1.Sum(a.Last))
	}
	args := keysOf(at, name(at.Key), holder, a.After, digest, a.Limits.Keep.Milliseconds(), a.Limits.Number, a.Limits.Bytes, a.Name)
	for _, v := range a.Values {
		args = append(args, v)
	}
	word, err := s.word("append", at, appendScript, args...)
	switch {
	case err != nil:
		return err
	case word == "full":
		return conversation.ErrNoRoom
	case word != "ok":
		return conversation.ErrLost
	}
	return nil
}

// Remove removes a conversation.
func (s *Store) Remove(at conversation.Place) error {
	word, err := s.word("remove", at, removeScript, keysOf(at, name(at.Key))...)
	switch {
	case err != nil:
		return err
	case word == "busy":
		return conversation.ErrBusy
	case word != "ok":
		return conversation.ErrNotFound
	}
	return nil
}

// List returns the conversations of a caller.
func (s *Store) List(group conversation.Key) (list []conversation.Listed, err error) {
	for first := 0; ; first += listPage {
		var page [][]byte
		err := s.ask("list", group, func(run run) (err error) {
			page, err = redis.ByteSlices(run(listScript, keysOf(conversation.Place{Group: group}, first, first+listPage-1)...))
			return err
		})
		if err != nil {
			return nil, err
		}
		for i := 0; i+3 < len(page); i += 4 {
			if one, ok := listed(page[i : i+4]); ok {
				list = append(list, one)
			}
		}
		if len(page) < 4*listPage || first > maxListed {
			return list, nil
		}
	}
}

// listed reads a conversation in a list. One without a name is gone.
func listed(row [][]byte) (c conversation.Listed, ok bool) {
	key, err := base64.RawURLEncoding.DecodeString(string(row[0]))
	ms, err2 := redis.Float64(row[1], nil)
	size, err3 := redis.Int64(row[2], nil)
	if errors.Join(err, err2, err3) != nil || len(key) != len(c.Key) || len(row[3]) == 0 {
		return c, false
	}
	return conversation.Listed{Key: conversation.Key(key), Name: row[3], Last: time.UnixMilli(int64(ms)), Bytes: size}, true
}
