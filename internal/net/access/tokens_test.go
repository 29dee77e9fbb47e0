package access

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// ask returns the status and the reason with which a control answers a request for the
// models that has a key.
func ask(c *Control, key string) (status int, why string) {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/v1/messages", http.NoBody)
	r.Header.Set("X-Api-Key", key)
	w := httptest.NewRecorder()
	if r, ok := c.Authorize(w, r, Models); ok {
		return http.StatusOK, Caller(r.Context())
	}
	return w.Code, w.Body.String()
}

func newControl(tokens ...Token) *Control {
	return New(Rules{Name: "gateway", Tokens: tokens, Refuse: func(w http.ResponseWriter, _ *http.Request, status int, why string) {
		http.Error(w, why, status)
	}})
}

// TestHashes: a server that has only the hash of a token recognizes it, wherever it stands
// in a header. The hash itself is not a token.
func TestHashes(t *testing.T) {
	secret := NewSecret()
	c := newControl(Token{Name: "alice", Hash: HashOf(secret)}, Token{Name: "bob", Secret: "the-token-of-bob"})
	for key, want := range map[string]string{secret: "alice", "the-token-of-bob": "bob"} {
		if status, who := ask(c, key); status != http.StatusOK || who != want {
			t.Errorf("%s: %d %s", want, status, who)
		}
		if !c.HasToken("Bearer "+key) || !c.HasToken("a=1; t="+key) {
			t.Errorf("the token of %s is not found in a header", want)
		}
	}
	for _, key := range []string{"", HashOf(secret), strings.TrimPrefix(HashOf(secret), "sha256:"), secret[:len(secret)-1], secret + "x"} {
		if status, why := ask(c, key); status != http.StatusUnauthorized {
			t.Errorf("%q: %d %s", key, status, why)
		}
	}
}

// TestWrongHashOpensNothing: a server whose tokens were not checked, and are wrong, is not open.
func TestWrongHashOpensNothing(t *testing.T) {
	c := New(Rules{Tokens: []Token{{Name: "a", Hash: "sha256:"}}})
	if !c.Guarded() {
		t.Error("the server needs no token")
	}
	for _, secret := range []string{"", "sha256:", "a", strings.Repeat("\x00", 32)} {
		if name, ok := c.Opens(secret); name != "" || ok {
			t.Errorf("%q opens the server as %q", secret, name)
		}
	}
}

// TestNewSecret: no two tokens are the same, each is found by its prefix, and nothing
// warns of one.
func TestNewSecret(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		s := NewSecret()
		if seen[s] || !strings.HasPrefix(s, "sotto_") || len(s) != 58 || Weakness(s) != "" {
			t.Errorf("%q: %s", s, Weakness(s))
		}
		seen[s] = true
	}
	for _, weak := range []string{"short", "aaaaaaaaaaaaaaaaaaaaaaaa", "T0kenT0kenT0kenT0ken"} {
		if Weakness(weak) == "" {
			t.Errorf("nothing warns of %q", weak)
		}
	}
}

// TestRotation: during a rotation the old token and the new one are both valid and of one
// caller. A token that expires is refused from then on, and one that was replaced at once.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(time.Hour)
		c := newControl(Token{Name: "alice", Secret: "the-old-token", Expires: end}, Token{Name: "alice", Secret: "the-new-token"})
		for _, key := range []string{"the-old-token", "the-new-token"} {
			if status, who := ask(c, key); status != http.StatusOK || who != "alice" {
				t.Errorf("%s: %d %s", key, status, who)
			}
		}
		mark := MarkOf("the-old-token")
		fits := func(m Mark) bool { return m == mark }
		if name, ok := c.OpensBy(fits, Models); name != "alice" || !ok {
			t.Errorf("the session of a valid token: %q, %v", name, ok)
		}
		time.Sleep(time.Hour)
		if status, why := ask(c, "the-old-token"); status != http.StatusUnauthorized || !strings.Contains(why, "has expired") || strings.Contains(why, "the-old-token") {
			t.Errorf("expired: %d %s", status, why)
		}
		if _, ok := c.Opens("the-old-token", Models); ok {
			t.Error("an expired token opens the models")
		}
		if _, ok := c.OpensBy(fits, Models); ok {
			t.Error("the session of an expired token goes on")
		}
		if status, _ := ask(c, "the-new-token"); status != http.StatusOK {
			t.Errorf("the new token: %d", status)
		}
		c.SetTokens([]Token{{Name: "alice", Secret: "the-third-token"}})
		if status, _ := ask(c, "the-new-token"); status != http.StatusUnauthorized {
			t.Errorf("a token that was replaced: %d", status)
		}
		if status, _ := ask(c, "the-third-token"); status != http.StatusOK {
			t.Errorf("the token in its place: %d", status)
		}
	})
}

// TestReadTokens: a file has one token or several, in plain or as hashes. No fault shows
// any part of a token.
func TestReadTokens(t *testing.T) {
	hash, day := HashOf("x"), time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string][]Token{
		"":                                 {},
		"\n# only a comment\n":             {},
		"one\n":                            {{Secret: "one"}},
		"#one":                             {{Secret: "#one"}},
		"one\r\n\r\ntwo":                   {{Secret: "one"}, {Secret: "two"}},
		"# the old one\none\n#\n" + hash:   {{Secret: "one"}, {Hash: hash}},
		strings.Replace(hash, "d", "D", 1): {{Hash: hash}},
		"one expires=2027-01-31\n":         {{Secret: "one", Expires: day}},
		hash + " expires=2027-01-31T01:00:00+01:00": {{Hash: hash, Expires: day}},
	} {
		got, err := ReadTokens(text)
		if err != nil || len(got) != len(want) {
			t.Errorf("%q: %v, %v", text, got, err)
			continue
		}
		for i := range got {
			if got[i].Secret != want[i].Secret || got[i].Hash != want[i].Hash || !got[i].Expires.Equal(want[i].Expires) {
				t.Errorf("%q: %v, want %v", text, got[i], want[i])
			}
		}
	}
	for text, want := range map[string]string{
		"canary1 canary2":              "white space",
		"canary1\tcanary2":             "white space",
		"canary1\ncanary\x00":          "line 2: the secret holds",
		"sha256:canary":                "its hash is not",
		hash[:70]:                      "its hash is not",
		"canary1 expires=canary2":      "want the expiry as a date",
		"canary1 expires=2027-02-30":   "want the expiry as a date",
		"canary1 expires= 2027-01-31":  "white space",
		strings.Repeat("canary\n", 65): "line 65: there are more than 64 tokens",
	} {
		if got, err := ReadTokens(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v, %v, want %s", text, got, err, want)
		}
	}
}

// FuzzReadTokens: what was read of a file can be written as lines that say the same, and no
// error shows what the file holds.
func FuzzReadTokens(f *testing.F) {
	for _, seed := range []string{"one\n", "a\nb expires=2027-01-31\n", HashOf("x") + " expires=2027-01-31T18:00:00Z", "# c\n\r\nsha256:00", "a b c", "x expires="} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ReadTokens(text)
		if err != nil {
			if word := strings.TrimSpace(text); len(word) > 40 && strings.Contains(err.Error(), word) {
				t.Errorf("%q is in the error: %v", word, err)
			}
			return
		}
		var lines strings.Builder
		for _, one := range list {
			lines.WriteString(one.Line() + "\n")
		}
		again, err := ReadTokens(lines.String())
		if err != nil || len(again) != len(list) {
			t.Fatalf("%q: %v, %v", &lines, again, err)
		}
		for i := range list {
			before, _ := list[i].sum()
			if after, err := again[i].sum(); err != nil || after != before || !again[i].Expires.Equal(list[i].Expires) {
				t.Errorf("%q is read as %v, %v", lines.String(), again[i], err)
			}
		}
	})
}
