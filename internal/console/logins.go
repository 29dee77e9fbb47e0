package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sotto-llm/sotto/internal/base/sealing"
	"github.com/sotto-llm/sotto/internal/base/sleep"
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

// A SharedLogins is where the consoles of several gateways know each other's logins, by names
// that tell nothing. It must be safe for concurrent use.
type SharedLogins interface {
	// BeginLogin begins a login, which ends when it is not used for so long.
	BeginLogin(of [sha256.Size]byte, idle time.Duration) error
	// UseLogin uses a login, and reports whether there is one.
	UseLogin(of [sha256.Size]byte, idle time.Duration) (lives bool, err error)
	EndLogin(of [sha256.Size]byte) error
}

// recheck is how long a console relies on what the shared store said of a login. So a logout
// at one console ends it at the others within this time.
const recheck = time.Second

// A login is a session that a person began in a browser with a token.
type login struct {
	of              access.Mark // the token
	began           time.Time
	used            time.Time
	checked         time.Time // when the shared store knew it
	context.Context           // done when the login has ended
	end             context.CancelFunc
}

// logins are the sessions that have not ended. Without a shared store only this process knows
// them, so that a cookie is worth nothing after a logout or a restart. With one, the cookie is
// sealed: it says of which token it is and when the login began, so that every console with
// the same secret can read it, and the store says whether the login has ended.
type logins struct {
	now    func() time.Time
	shared SharedLogins // nil without one
	box    *sealing.Box // with a shared store

	mu  sync.Mutex
	all map[[sha256.Size]byte]*login // by the digest of the cookie's value
}

func newLogins(c *Config) (*logins, error) {
	s := &logins{now: c.Now, shared: c.Logins, all: map[[sha256.Size]byte]*login{}}
	if s.shared == nil {
		return s, nil
	}
	box, err := sealing.New(c.LoginSecret, "logins of the console")
	s.box = box
	return s, err
}

// begin begins a login with a token, and returns the value of its cookie.
func (s *logins) begin(of access.Mark) (value string, err error) {
	now := s.now()
	value = rand.Text()
	if s.shared != nil {
		value = s.sealed(of, now)
		if err := s.shared.BeginLogin(s.box.Name([]byte(value)), idleTime); err != nil {
			return "", fmt.Errorf("%w: %w", errLogins, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(value, of, now, now)
	return value, nil
}

// errLogins is the error of a console that cannot reach the store of the logins.
var errLogins = errors.New("the store that has the logins cannot be reached")

// errLoginEnded is the cause with which a request ends whose login ended meanwhile.
var errLoginEnded = errors.New("the login has ended")

// add adds a login that this process did not know. The caller holds the lock.
func (s *logins) add(value string, of access.Mark, began, now time.Time) *login {
	s.sweep(now)
	s.makeRoom(maxLoginsEach, func(l *login) bool { return l.of == of })
	s.makeRoom(maxLogins, func(*login) bool { return true })
	ctx, end := context.WithCancel(context.Background())
	l := &login{of: of, began: began, used: now, checked: now, Context: ctx, end: end}
	s.all[sha256.Sum256([]byte(value))] = l
	return l
}

// cookieUse is what a cookie is sealed for, and cookieSize how long its value is.
const cookieUse = "cookie"

var cookieSize = base64.RawURLEncoding.EncodedLen(len(access.Mark{}) + 8 + 12 + 16) // with the nonce and the tag

// sealed is the value of a cookie that other consoles can read. Its nonce is random, so that
// no two are alike.
func (s *logins) sealed(of access.Mark, began time.Time) string {
	return base64.RawURLEncoding.EncodeToString(s.box.Seal([]byte(cookieUse), binary.BigEndian.AppendUint64(of[:], uint64(began.UnixNano()))))
}

// opened returns what a sealed cookie says.
func (s *logins) opened(value string) (of access.Mark, began time.Time, ok bool) {
	if s.box == nil || len(value) != cookieSize {
		return of, began, false
	}
	data, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return of, began, false
	}
	plain, ok := s.box.Open([]byte(cookieUse), data)
	if !ok || len(plain) != len(of)+8 {
		return of, began, false
	}
	return access.Mark(plain), time.Unix(0, int64(binary.BigEndian.Uint64(plain[len(of):]))), true
}

// sweep ends what is over. The caller holds the lock.
func (s *logins) sweep(now time.Time) {
	for key, l := range s.all {
		if l.over(now, s.shared != nil) {
			s.remove(key)
		}
	}
}

// over reports whether a login has ended by itself. If a store is shared, it knows whether the
// login was used at another console, and is asked again.
func (l *login) over(now time.Time, shared bool) bool {
	last := l.used
	if shared {
		last = l.checked
	}
	return now.Sub(l.began) >= loginTime || now.Sub(last) >= idleTime
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
	for _, value := range cookiesOf(r) {
		if l := s.use(value); l != nil {
			return l
		}
	}
	return nil
}

// use returns the login of a cookie, if it has not ended, here or at another console.
func (s *logins) use(value string) *login {
	key, now := sha256.Sum256([]byte(value)), s.now()
	s.mu.Lock()
	l := s.all[key]
	if l != nil && l.over(now, s.shared != nil) {
		s.remove(key)
		l = nil
	}
	if l != nil {
		l.used = now
	}
	ask := s.shared != nil && (l == nil || now.Sub(l.checked) >= recheck)
	s.mu.Unlock()
	if !ask {
		return l
	}
	of, began, ok := s.opened(value)
	if !ok || now.Sub(began) >= loginTime {
		return nil
	}
	lives, err := s.shared.UseLogin(s.box.Name([]byte(value)), idleTime)
	s.mu.Lock()
	defer s.mu.Unlock()
	l = s.all[key] // another request may have changed it
	switch {
	case err == nil && !lives:
		if l != nil {
			s.remove(key)
		}
		return nil
	case err != nil: // what was known holds until it would end unused
		return l
	case l == nil:
		l = s.add(value, of, began, now)
	}
	l.checked = now
	return l
}

// end ends the logins of a request, at all consoles.
func (s *logins) end(r *http.Request) (err error) {
	for _, value := range cookiesOf(r) {
		if _, _, ok := s.opened(value); ok {
			if e := s.shared.EndLogin(s.box.Name([]byte(value))); e != nil {
				err = fmt.Errorf("%w: %w", errLogins, e)
			}
		}
		key := sha256.Sum256([]byte(value))
		s.mu.Lock()
		if s.all[key] != nil {
			s.remove(key)
		}
		s.mu.Unlock()
	}
	return err
}

// maxCookies bounds the cookies that are looked at. A browser sends one for each path at
// which a console was.
const maxCookies = 8

// cookiesOf returns the values of the cookies of logins that a request has.
func cookiesOf(r *http.Request) (values []string) {
	for i, c := range r.CookiesNamed(cookieName) {
		if i == maxCookies {
			break
		}
		values = append(values, c.Value)
	}
	return values
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
	_, operates := c.control.OpensBy(l.fits, access.Operator)
	_, consents := c.control.OpensBy(l.fits, access.Consent)
	return viewer{Name: name, Talks: talks, Operates: operates, Consents: consents, token: &l.of}, l, ok
}

// during returns a request that ends with the login that it was admitted by: with it end
// a page that follows the record, and a reply in the chat.
func (s *logins) during(l *login, r *http.Request) (_ *http.Request, done func()) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(l, func() { cancel(errLoginEnded) })
	if s.shared != nil {
		go s.watch(ctx, r)
	}
	return r.WithContext(ctx), func() { stop(); cancel(nil) }
}

// watch asks for the logins of a request as long as it runs, so that it ends with them.
func (s *logins) watch(ctx context.Context, r *http.Request) {
	for sleep.For(ctx, recheck) == nil {
		s.find(r)
	}
}
