package console

import (
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/internal/net/access"
)

// warningCookie says to the login page that the address had a token in it, for as many
// seconds as warningTime.
const (
	warningCookie = "sotto_console_warning"
	warningTime   = 60
)

func setWarning(w http.ResponseWriter, seconds int) {
	http.SetCookie(w, &http.Cookie{Name: warningCookie, Value: "url", HttpOnly: true, SameSite: http.SameSiteLaxMode, MaxAge: seconds})
}

// refusesURL answers a request that has a token in its URL, which opens nothing. A browser
// goes on to the same page without the token, so that the token does not stay in its
// history, and no link leads on with it.
func refusesURL(w http.ResponseWriter, r *http.Request) bool {
	if !access.InURL(r) {
		return false
	}
	if r.Method != http.MethodGet || WantsJSON(r) || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		refuse(w, r, http.StatusBadRequest, access.ReasonURL)
		return true
	}
	path := r.URL.EscapedPath()
	to := "./" + path[strings.LastIndexByte(path, '/')+1:]
	if rest := access.WithoutKeys(r.URL.RawQuery); rest != "" {
		to += "?" + rest
	}
	setWarning(w, warningTime)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
	return true
}
