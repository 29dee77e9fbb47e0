package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/net/access"
)

const (
	cookieName = "sotto_console"
	// loginTime is how long a login lasts, and idleTime how long it lasts unused. A page
	// that follows the record uses it.
	loginTime = 12 * time.Hour
	idleTime  = 2 * time.Hour
	// maxLogins and maxLoginsEach bound the logins, of all tokens and of one. One more
	// ends the one that was not used for the longest time.
	maxLogins     = 1024
	maxLoginsEach = 64
)

// A login is a session that a person began in a browser with a token.
type login struct {
	of              access.Mark // the token
	began           time.Time
	used            time.Time
	context.Context // done when the login has ended
	end             context.CancelFunc
}

// logins are the sessions that have not ended. Only this process knows them, so that a
// cookie is worth nothing after a logout or a restart.
type logins struct {
	now func() time.Time

	mu  sync.Mutex
	all map[[sha256.Size]byte]*login // by the digest of the cookie's value
}

func newLogins(now func() time.Time) *logins {
	return &logins{now: now, all: map[[sha256.Size]byte]*login{}}
}

// begin begins a login with a token, and returns the value of its cookie.
func (s *logins) begin(of access.Mark) string {
	value := rand.Text()
	ctx, end := context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.sweep(now)
	s.makeRoom(maxLoginsEach, func(l *login) bool { return l.of == of })
	s.makeRoom(maxLogins, func(*login) bool { return true })
	s.all[sha256.Sum256([]byte(value))] = &login{of: of, began: now, used: now, Context: ctx, end: end}
	return value
}

// sweep ends what is over. The caller holds the lock.
func (s *logins) sweep(now time.Time) {
	for key, l := range s.all {
		if l.over(now) {
			s.remove(key)
		}
	}
}

func (l *login) over(now time.Time) bool {
	return now.Sub(l.began) >= loginTime || now.Sub(l.used) >= idleTime
}

// makeRoom ends the login among some that was not used for the longest time, if there are
// as many as there may be. The caller holds the lock.
func (s *logins) makeRoom(most int, among func(*login) bool) {
	n := 0
	var oldest [sha256.Size]byte
	for key, l := range s.all {
		if !among(l) {
			continue
		}
		if n++; n == 1 || l.used.Before(s.all[oldest].used) {
			oldest = key
		}
	}
	if n >= most {
		s.remove(oldest)
	}
}

// remove ends a login. The caller holds the lock.
func (s *logins) remove(key [sha256.Size]byte) {
	s.all[key].end()
	delete(s.all, key)
}

// find returns the login of a request, which is used by it.
func (s *logins) find(r *http.Request) *login {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, key := range keysOf(r) {
		switch l := s.all[key]; {
		case l == nil:
		case l.over(now):
			s.remove(key)
		default:
			l.used = now
			return l
		}
	}
	return nil
}

// end ends the logins of a request.
func (s *logins) end(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keysOf(r) {
		if s.all[key] != nil {
			s.remove(key)
		}
	}
}

// maxCookies bounds the cookies that are looked at. A browser sends one for each path at
// which a console was.
const maxCookies = 8

// keysOf returns the keys of the logins whose cookies a request has.
func keysOf(r *http.Request) (keys [][sha256.Size]byte) {
	for i, c := range r.CookiesNamed(cookieName) {
		if i == maxCookies {
			break
		}
		keys = append(keys, sha256.Sum256([]byte(c.Value)))
	}
	return keys
}

// fits reports whether a login was begun with a token.
func (l *login) fits(m access.Mark) bool { return subtle.ConstantTimeCompare(l.of[:], m[:]) == 1 }

// inLogin returns the viewer of a request that has the cookie of a login. The login ends
// with its token, which may have been replaced since.
func (c *Console) inLogin(r *http.Request) (viewer, *login, bool) {
	l := c.logins.find(r)
	if l == nil {
		return viewer{}, nil, false
	}
	name, ok := c.control.OpensBy(l.fits, scopes()...)
	_, talks := c.control.OpensBy(l.fits, access.Models)
	return viewer{name, talks}, l, ok
}

// during returns a request that ends with the login that it was admitted by: with it end
// a page that follows the record, and a reply in the chat.
func (l *login) during(r *http.Request) (_ *http.Request, done func()) {
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(l, cancel)
	return r.WithContext(ctx), func() { stop(); cancel() }
}
