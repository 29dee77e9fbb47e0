package replicas

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/sotto-llm/sotto/internal/data/transact"
)

var _ transact.Level = (*Store)(nil)

// All keys of a space have one hash tag, the group. After it come v: and the owner, for the hash
// of its values, in which the field * has the bytes of all; i: and the owner, for its rows; jobs,
// for the jobs of all; or l: and a job, for the holder of its lease.
var (
	// commitScript makes a change. KEYS: the values, the rows, the jobs. ARGV: how the names of
	// leases begin, the holder, the lease in ms, how long values are kept in ms, the bound of
	// the bytes, the number of checks, the size of a stamp; then each check with its name and stamp; then
	// each write with its table, name and value, which is empty where it deletes.
	commitScript = redis.NewScript(3, `
local stamp, checks, at = tonumber(ARGV[7]), tonumber(ARGV[6]), 8
local function begin(name)
  local v = redis.call('HGET', KEYS[1], name)
  return v and string.sub(v, 1, stamp) or ''
end
local writes = at + 2 * checks
for i = writes, #ARGV, 3 do
  if ARGV[i] == 'v' and ARGV[i + 2] ~= '' then
    if begin(ARGV[i + 1]) == string.sub(ARGV[i + 2], 1, stamp) then return 'ok' end
    break
  end
end
for i = at, writes - 1, 2 do
  if begin(ARGV[i]) ~= ARGV[i + 1] then return 'changed' end
end
local hash = {v = KEYS[1], i = KEYS[2], j = KEYS[3]}
local more = 0
for i = writes, #ARGV, 3 do
  if ARGV[i] ~= 'j' then
    more = more + #ARGV[i + 2] - redis.call('HSTRLEN', hash[ARGV[i]], ARGV[i + 1])
  end
end
if more > 0 and tonumber(redis.call('HGET', KEYS[1], '*') or 0) + more > tonumber(ARGV[5]) then return 'full' end
for i = writes, #ARGV, 3 do
  local of, name, value = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  if value == '' then
    redis.call('HDEL', hash[of], name)
    if of == 'j' then redis.call('DEL', ARGV[1] .. name) end
  else
    redis.call('HSET', hash[of], name, value)
    if of == 'j' then redis.call('SET', ARGV[1] .. name, ARGV[2], 'PX', ARGV[3], 'NX') end
  end
end
redis.call('HINCRBY', KEYS[1], '*', string.format('%d', more))
for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[4]) end
return 'ok'`)

	// ownedScript returns how many rows there are, and the bytes of rows and values. KEYS: the
	// values, the rows.
	ownedScript = redis.NewScript(2, `return {redis.call('HLEN', KEYS[2]), redis.call('HGET', KEYS[1], '*') or '0'}`)

	// beatScript renews leases, and returns the state of each job. KEYS: the jobs. ARGV: how the
	// names of leases begin, the holder, the lease in ms, the jobs.
	beatScript = redis.NewScript(1, `
local states = {}
for i = 4, #ARGV do
  local holder = redis.call('GET', ARGV[1] .. ARGV[i])
  if redis.call('HEXISTS', KEYS[1], ARGV[i]) == 0 then
    states[#states + 1] = 'c'
  elseif holder and holder ~= ARGV[2] then
    states[#states + 1] = 'l'
  else
    redis.call('SET', ARGV[1] .. ARGV[i], ARGV[2], 'PX', ARGV[3])
    states[#states + 1] = 'h'
  end
end
return states`)

	// idleScript returns in how many ms the next lease ends, -1 if there is none, and then jobs
	// without a lease. KEYS: the jobs. ARGV: how the names of leases begin, how many are wanted.
	idleScript = redis.NewScript(1, `
local list, next = {'-1'}, -1
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if #list >= 2 * tonumber(ARGV[2]) then break end
  local left = redis.call('PTTL', ARGV[1] .. name)
  if left == -2 then
    list[#list + 1] = name
    list[#list + 1] = redis.call('HGET', KEYS[1], name)
  elseif left >= 0 and (next < 0 or left < next) then
    next = left
  end
end
list[1] = string.format('%d', next)
return list`)

	// claimScript takes the lease of an idle job. KEYS: the jobs. ARGV: the lease, the job, the
	// holder, the lease in ms.
	claimScript = redis.NewScript(1, `
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end
return redis.call('SET', ARGV[1] .. ARGV[2], ARGV[3], 'PX', ARGV[4], 'NX') and 1 or 0`)

	// releaseScript gives leases back. KEYS: the jobs. ARGV: how the names of leases begin, the
	// holder, the jobs.
	releaseScript = redis.NewScript(1, `
for i = 3, #ARGV do
  if redis.call('GET', ARGV[1] .. ARGV[i]) == ARGV[2] then redis.call('DEL', ARGV[1] .. ARGV[i]) end
end
return 1`)
)

// space is how the keys of a space begin.
func space(group transact.Key) string { return prefix + "{" + name(group) + "}" }

// tell runs a script of a space. It tries even while the server is left alone, since nothing
// else has the values.
func (s *Store) tell(operation string, group transact.Key, commands func(run) error) error {
	if err := s.try(operation, space(group), s.o.Keep, commands); err != nil {
		return fmt.Errorf("%w: %w", transact.ErrUnreachable, err)
	}
	return nil
}

// Read returns a value; nil if there is none.
func (s *Store) Read(at transact.Place, t transact.Table, key transact.Key) (value []byte, err error) {
	err = s.tell("value", at.Group, func(run run) error {
		value, err = redis.Bytes(run(readScript, space(at.Group)+string(t)+":"+name(at.Owner), name(key)))
		if err == redis.ErrNil {
			value, err = nil, nil
		}
		return err
	})
	return value, err
}

// ReadRows returns all rows of an owner.
func (s *Store) ReadRows(at transact.Place) (rows map[transact.Key][]byte, err error) {
	err = s.tell("rows", at.Group, func(run run) error {
		list, err := redis.ByteSlices(run(loadScript, space(at.Group)+"i:"+name(at.Owner), maxAnswer, maxItems/2))
		rows = pairs(list)
		return err
	})
	return rows, err
}

// pairs reads names and values that follow each other. What has no name of ours is left out.
func pairs(list [][]byte) map[transact.Key][]byte {
	m := map[transact.Key][]byte{}
	for i := 0; i+1 < len(list); i += 2 {
		key, err := base64.RawURLEncoding.DecodeString(string(list[i]))
		if err == nil && len(key) == len(transact.Key{}) {
			m[transact.Key(key)] = list[i+1]
		}
	}
	return m
}

// Size returns the number of an owner's rows, and the bytes of its rows and values.
func (s *Store) Size(at transact.Place) (rows int, bytes int64, err error) {
	err = s.tell("size", at.Group, func(run run) error {
		own := name(at.Owner)
		list, err := redis.Int64s(run(ownedScript, space(at.Group)+"v:"+own, space(at.Group)+"i:"+own))
		if err == nil && len(list) != 2 {
			err = fmt.Errorf("%d numbers, and not 2", len(list))
		}
		if err == nil {
			rows, bytes = int(list[0]), list[1]
		}
		return err
	})
	return rows, bytes, err
}

// Commit makes a change.
func (s *Store) Commit(at transact.Place, c transact.Change) error {
	in, own := space(at.Group), name(at.Owner)
	args := []any{
		in + "v:" + own, in + "i:" + own, in + "jobs",
		in + "l:", c.Lease.Holder, c.Lease.For.Milliseconds(), c.Keep.Milliseconds(), c.Bytes, len(c.Checks), transact.StampSize,
	}
	for _, x := range c.Checks {
		args = append(args, name(x.Name), x.Stamp)
	}
	for _, w := range c.Writes {
		args = append(args, string(w.Table), name(w.Name), w.Value)
	}
	word := ""
	err := s.tell("commit", at.Group, func(run run) (err error) {
		word, err = redis.String(run(commitScript, args...))
		return err
	})
	switch {
	case err != nil:
		return err
	case word == "changed":
		return transact.ErrChanged
	case word == "full":
		return transact.ErrFull
	}
	return nil
}

// leases are the arguments of a script about jobs.
func leases(group transact.Key, more ...any) []any {
	return append([]any{space(group) + "jobs", space(group) + "l:"}, more...)
}

func withNames(args []any, jobs []transact.Key) []any {
	for _, j := range jobs {
		args = append(args, name(j))
	}
	return args
}

// Beat renews leases.
func (s *Store) Beat(group transact.Key, l transact.Lease, jobs []transact.Key) (states []transact.State, err error) {
	err = s.tell("beat", group, func(run run) error {
		list, err := redis.Strings(run(beatScript, withNames(leases(group, l.Holder, l.For.Milliseconds()), jobs)...))
		if err == nil && len(list) != len(jobs) {
			err = fmt.Errorf("%d states of %d jobs", len(list), len(jobs))
		}
		for _, state := range list {
			states = append(states, transact.State((state + "l")[0]))
		}
		return err
	})
	return states, err
}

// Idle returns jobs without a lease, and when the next lease ends.
func (s *Store) Idle(group transact.Key, most int) (jobs map[transact.Key][]byte, next time.Duration, err error) {
	err = s.tell("idle", group, func(run run) error {
		list, err := redis.ByteSlices(run(idleScript, leases(group, most)...))
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return errors.New("no answer about leases")
		}
		left, err := strconv.ParseInt(string(list[0]), 10, 32)
		jobs, next = pairs(list[1:]), time.Duration(left)*time.Millisecond
		return err
	})
	return jobs, next, err
}

// Claim takes the lease of an idle job.
func (s *Store) Claim(group transact.Key, l transact.Lease, job transact.Key) (mine bool, err error) {
	err = s.tell("claim", group, func(run run) error {
		mine, err = redis.Bool(run(claimScript, leases(group, name(job), l.Holder, l.For.Milliseconds())...))
		return err
	})
	return mine, err
}

// Release gives leases back.
func (s *Store) Release(group transact.Key, holder string, jobs []transact.Key) error {
	return s.tell("release", group, func(run run) error {
		_, err := run(releaseScript, withNames(leases(group, holder), jobs)...)
		return err
	})
}
