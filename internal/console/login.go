package console

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/internal/net/access"
)

// maxForm bounds the body of the login form.
const maxForm = 8 << 10

// A viewer is somebody whom the console has admitted.
type viewer struct {
	Name  string // of the token; "" if there are no tokens
	Talks bool   // the token opens the models too
	// Operates says that it may change what the gateway has.
	Operates bool
	// Consents says that it may agree to calls of agents.
	Consents bool
	token    *access.Mark // nil if there are no tokens
	from     string       // the address of somebody for whom another console asks
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

// cookie returns the cookie of a login. It has no Path, so that the browser sends it below
// the folder of the login, whatever a proxy calls that.
func cookie(value string, secure bool) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, HttpOnly: true, Secure: secure, SameSite: http.SameSiteLaxMode, MaxAge: int(loginTime.Seconds()),
	}
}

// overTLS reports whether the browser sent a request over TLS, as far as that shows.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
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
	data := map[string]string{"Next": next, "Fault": fault}
	if _, err := r.Cookie(warningCookie); err == nil {
		data["Warning"] = Word("login.url")
		setWarning(w, -1)
	}
	c.render(w, r, status, "", Answer{Template: "login", Title: Word("login.title"), Data: data})
}

// refuseLogin answers a request whose login has ended.
func (c *Console) refuseLogin(w http.ResponseWriter, r *http.Request) {
	if WantsJSON(r) {
		refuse(w, r, http.StatusUnauthorized, errLoginEnded.Error())
		return
	}
	c.askToken(w, r, http.StatusUnauthorized, Word("login.ended"))
}

// login checks the token of the form and begins a session.
func (c *Console) login(w http.ResponseWriter, r *http.Request) {
	r, done, ok := whole(w, r, c.forms, "", maxForm)
	if !ok {
		return
	}
	defer done()
	if err := r.ParseForm(); err != nil {
		refuse(w, r, http.StatusBadRequest, "the form cannot be read")
		return
	}
	secret := strings.TrimSpace(r.PostForm.Get("token"))
	name, ok := c.control.Opens(secret, scopes()...)
	switch {
	case !c.control.Guarded():
	case !ok && name != "":
		c.askToken(w, r, http.StatusForbidden, Word("login.scope"))
		return
	case !ok:
		if c.control.Guessed(w, r) {
			c.askToken(w, r, http.StatusUnauthorized, Word("login.wrong"))
		}
		return
	default:
		c.config.Log.Info("a login to the console", "caller", name)
		err := c.logins.end(r) // the browser forgets its cookie
		value, began := c.logins.begin(access.MarkOf(secret))
		if err = errors.Join(err, began); err != nil {
			c.failed(w, r, "", err)
			return
		}
		http.SetCookie(w, cookie(value, overTLS(r)))
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

// logout ends the session, and what is open in it.
func (c *Console) logout(w http.ResponseWriter, r *http.Request) {
	// The request ends with its login, but the answer must still be given.
	r = r.WithContext(context.WithoutCancel(r.Context()))
	if err := c.logins.end(r); err != nil { // it would go on at other consoles
		c.failed(w, r, "", err)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: -1})
	w.Header().Set("Location", "./")
	w.WriteHeader(http.StatusSeeOther)
}
