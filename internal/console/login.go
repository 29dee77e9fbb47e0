package console

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/http"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/access"
)

const (
	cookieName = "sotto_console"
	// sessionTime is how long a login lasts. It also ends when the console restarts.
	sessionTime = 12 * time.Hour
	// maxForm bounds the body of the login form.
	maxForm = 8 << 10
)

// sessions makes and checks the cookies of those who have logged in. A cookie has
// its end, what tells its token from others, and a code that only this process can make,
// so that nothing grows with the number of logins.
type sessions struct {
	key [32]byte
	now func() time.Time
}

func newSessions(now func() time.Time) *sessions {
	s := &sessions{now: now}
	_, _ = rand.Read(s.key[:]) // never fails
	return s
}

func (s *sessions) code(text []byte) []byte {
	mac := hmac.New(sha256.New, s.key[:])
	mac.Write(text)
	return mac.Sum(nil)
}

// A viewer is somebody whom the console has admitted.
type viewer struct {
	Name  string // of the token; "" if there are no tokens
	Talks bool   // the token opens the models too
}

type viewerKey struct{}

// as returns a request of a viewer.
func (v viewer) as(r *http.Request) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), viewerKey{}, v))
}

func viewerOf(r *http.Request) viewer {
	v, _ := r.Context().Value(viewerKey{}).(viewer)
	return v
}

// cookie returns a cookie for a session that begins now with a token. It has no Path, so
// that the browser sends it below the folder of the login, whatever a proxy calls that.
func (s *sessions) cookie(secret string, secure bool) *http.Cookie {
	text := binary.BigEndian.AppendUint64(nil, uint64(s.now().Add(sessionTime).Unix()))
	text = append(text, s.tag(access.MarkOf(secret))...)
	return &http.Cookie{
		Name: cookieName, Value: base64.RawURLEncoding.EncodeToString(append(s.code(text), text...)),
		HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode, MaxAge: int(sessionTime.Seconds()),
	}
}

// tag is what a cookie has of a token: nobody else can compute it.
func (s *sessions) tag(m access.Mark) []byte { return s.code(m[:]) }

// tagOf returns the tag in a cookie of a request whose session has not ended.
func (s *sessions) tagOf(r *http.Request) (tag []byte, ok bool) {
	for _, c := range r.CookiesNamed(cookieName) {
		raw, err := base64.RawURLEncoding.DecodeString(c.Value)
		if err != nil || len(raw) != sha256.Size+8+sha256.Size {
			continue
		}
		code, text := raw[:sha256.Size], raw[sha256.Size:]
		if hmac.Equal(code, s.code(text)) && s.now().Unix() < int64(binary.BigEndian.Uint64(text)) {
			return text[8:], true
		}
	}
	return nil, false
}

// inSession returns the viewer of a request that has the cookie of a session. The session
// ends with its token, which may have been replaced since.
func (c *Console) inSession(r *http.Request) (viewer, bool) {
	tag, ok := c.session.tagOf(r)
	if !ok {
		return viewer{}, false
	}
	fits := func(m access.Mark) bool { return hmac.Equal(c.session.tag(m), tag) }
	name, ok := c.control.OpensBy(fits, scopes()...)
	_, talks := c.control.OpensBy(fits, access.Models)
	return viewer{name, talks}, ok
}

// askToken serves the form for the token. It leads back to the page that was asked
// for.
func (c *Console) askToken(w http.ResponseWriter, r *http.Request, status int, fault string) {
	next := strings.TrimPrefix(r.URL.Path, "/")
	if r.Method == http.MethodPost {
		next = ""
	} else if r.URL.RawQuery != "" {
		next += "?" + r.URL.RawQuery
	}
	c.render(w, r, status, "", answer{template: "login", title: word("login.title"), data: map[string]string{"Next": next, "Fault": fault}})
}

// login checks the token of the form and begins a session.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		refuse(w, r, http.StatusBadRequest, "the form cannot be read")
		return
	}
	secret := strings.TrimSpace(r.PostForm.Get("token"))
	name, ok := c.control.Opens(secret, scopes()...)
	switch {
	case !c.control.Guarded():
	case !ok && name != "":
		c.askToken(w, r, http.StatusForbidden, word("login.scope"))
		return
	case !ok:
		c.askToken(w, r, http.StatusUnauthorized, word("login.wrong"))
		return
	default:
		c.config.Log.Info("a login to the console", "caller", name)
		http.SetCookie(w, c.session.cookie(secret, r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")))
	}
	w.Header().Set("Location", nextPage(r.PostForm.Get("next")))
	w.WriteHeader(http.StatusSeeOther)
}

// nextPage returns where to go after a login: a page below the console, or its root.
func nextPage(next string) string {
	path, _, _ := strings.Cut(next, "?")
	if next == "" || len(next) > 4096 || strings.HasPrefix(next, "/") || strings.ContainsAny(path, `\:#`) || strings.Contains(path, "..") {
		return "./"
	}
	for i := range len(next) {
		if next[i] <= ' ' || next[i] >= 0x7f {
			return "./"
		}
	}
	return "./" + next
}

// logout ends the session in this browser.
func (c *Console) logout(w http.ResponseWriter, _ *http.Request) {
	http.SetCookie(w, &http.Cookie{Name: cookieName, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: -1})
	w.Header().Set("Location", "./")
	w.WriteHeader(http.StatusSeeOther)
}
