package replicas

import (
	"time"

	"github.com/gomodule/redigo/redis"
)

// Logins of the console are names that exist until they are not used for a while. Each is a
// key of its own, so that it ends by itself.
var (
	// beginScript begins a login. KEYS: it. ARGV: for how long, in ms.
	beginScript = redis.NewScript(1, `return redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])`)
	// useScript uses a login, if there is one, and returns 1 then. KEYS and ARGV as above.
	useScript = redis.NewScript(1, `return redis.call('PEXPIRE', KEYS[1], ARGV[1])`)
	// endScript ends a login. KEYS: it.
	endScript = redis.NewScript(1, `return redis.call('DEL', KEYS[1])`)
)

func loginName(of [32]byte) string { return prefix + "login:" + name(of) }

// BeginLogin begins a login, which ends when it is not used for so long.
func (s *Store) BeginLogin(of [32]byte, idle time.Duration) error {
	return s.login("login_begin", beginScript, nil, of, idle.Milliseconds())
}

// UseLogin uses a login, and reports whether there is one.
func (s *Store) UseLogin(of [32]byte, idle time.Duration) (lives bool, err error) {
	err = s.login("login_use", useScript, &lives, of, idle.Milliseconds())
	return lives, err
}

// EndLogin ends a login everywhere.
func (s *Store) EndLogin(of [32]byte) error { return s.login("login_end", endScript, nil, of) }

// login runs a script for a login, and takes its answer if somebody wants it.
func (s *Store) login(operation string, script *redis.Script, yes *bool, of [32]byte, args ...any) error {
	key := loginName(of)
	return s.try(operation, key, s.o.Keep, func(run run) error {
		got, err := run(script, append([]any{key}, args...)...)
		if err == nil && yes != nil {
			*yes, err = redis.Bool(got, err)
		}
		return err
	})
}
