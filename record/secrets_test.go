package record_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/record"
)

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func cookies(values ...string) *http.Request {
	r := &http.Request{Header: http.Header{}, URL: &url.URL{}}
	for i, v := range values {
		r.Header.Add("Cookie", fmt.Sprintf("c%d=%s", i, v))
	}
	return r
}

// recorded appends one event and returns it as it was recorded.
func recorded(t *testing.T, o record.Options, e record.Event) record.Event {
	t.Helper()
	dir := t.TempDir()
	w := open(t, dir, o)
	if _, err := w.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	shut(t, w)
	return read(t, dir, record.ReadOptions{}, record.Query{})[0]
}

// Cookies that repeat one letter, over a text that does, cost memory in proportion
// to the text, not to the matches.
func TestAlikeCookies(t *testing.T) {
	var values []string
	for i := range 16 {
		values = append(values, strings.Repeat("a", 8+i))
	}
	cost := func(n int) uint64 {
		p := record.ToolCall{Name: "f", Arguments: record.Say(strings.Repeat("a", n))}
		return allocated(func() {
			e := recorded(t, record.Options{}, record.Event{Payload: p, Secrets: record.RequestSecrets(cookies(values...))})
			if got := e.Payload.(record.ToolCall).Arguments; got.Text != "[secret]" || got.Cuts[0].End != n {
				t.Errorf("recorded %.80q", got.Text)
			}
		})
	}
	one, two := cost(1<<20), cost(2<<20)
	if two > 3*one || two > 16*(2<<20) {
		t.Errorf("1 MiB costs %d bytes, 2 MiB %d", one, two)
	}
}

// Thousands of ordinary cookies are all searched for, in one pass.
func TestManyCookies(t *testing.T) {
	var values []string
	for i := range 3500 {
		values = append(values, fmt.Sprintf("CANARY%08d", i*7919))
	}
	text := strings.Join(values, " ") + strings.Repeat(" and so on", 100_000)
	used := allocated(func() {
		e := recorded(t, record.Options{}, record.Event{Payload: record.CycleStart{Goal: record.Say(text)}, Secrets: record.RequestSecrets(cookies(values...))})
		if strings.Contains(string(e.Line()), "CANARY") || e.Unsearched != 0 {
			t.Errorf("a cookie stands in the record, or %d were not searched for", e.Unsearched)
		}
	})
	if used > 100<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}

// What is too much to search for is said, in the event and by the set, and what
// was named by the configuration is searched for whatever a request carries.
func TestTooManySecrets(t *testing.T) {
	var values []string
	for i := range 300 {
		values = append(values, strings.Repeat(fmt.Sprintf("%04d", i), 2000+i))
	}
	s := record.RequestSecrets(cookies(values...))
	s.Add("CANARY-of-the-configuration")
	used := allocated(func() {
		if n := s.Unsearched(); n == 0 || n >= 300 {
			t.Errorf("%d of 300 values of 8 KB are not searched for", n)
		}
	})
	if used > 64<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
	text := "CANARY-of-the-configuration " + values[299] + " " + values[0]
	for _, o := range []record.Options{{}, {Reasoning: record.Off}, {Answer: record.Redacted}} {
		e := recorded(t, o, record.Event{Payload: record.ToolCall{Name: "f", Error: text}, Secrets: s})
		switch got := e.Payload.(record.ToolCall).Error; {
		case strings.Contains(got, "CANARY"):
			t.Error("a secret of the configuration was pushed out by cookies")
		case strings.Contains(got, values[299]):
			t.Error("the longest cookie was not kept")
		case !strings.Contains(got, values[0]):
			t.Error("nothing was too much: the test tests nothing")
		}
		if e.Unsearched != s.Unsearched() {
			t.Errorf("the event says %d, the set %d", e.Unsearched, s.Unsearched())
		}
	}
	var many []string
	for i := range 50_000 {
		many = append(many, fmt.Sprintf("%08d", i))
	}
	if n := record.RequestSecrets(cookies(many...)).Unsearched(); n != 50_000-4096 {
		t.Errorf("%d of 50,000 values are not searched for", n)
	}
	if n := record.NewSecrets("one secret", "another one").Unsearched(); n != 0 {
		t.Errorf("%d of two", n)
	}
}

// No secret survives in any spelling that is searched for, at any level, however
// secrets overlap.
func TestNoSecretSurvives(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	word := func(alphabet string, n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(b)
	}
	rounds := 60
	if effort.Brief() {
		rounds = 15
	}
	for range rounds {
		alphabet := []string{"XY", "XYZ/\"", "X\\Y", "XÜ\xff%", "X +Y&"}[r.IntN(5)]
		var secrets []string
		for len(secrets) < 1+r.IntN(5) {
			if s := word(alphabet, 4+r.IntN(8)); strings.TrimSpace(s) == s {
				secrets = append(secrets, s)
			}
		}
		var text strings.Builder
		for range 20 {
			s := secrets[r.IntN(len(secrets))]
			quoted, _ := json.Marshal(s)
			text.WriteString([]string{s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)),
				base64.RawURLEncoding.EncodeToString([]byte(s)), string(quoted), word(alphabet, 3), "<think>", "</think>"}[r.IntN(9)])
		}
		for _, level := range []record.Level{record.Full, record.Redacted, record.Digests, record.Off} {
			v := said("m", text.String())
			v.Error, v.Provider = text.String(), text.String()
			e := recorded(t, record.Options{Reasoning: level, Secrets: record.NewSecrets(secrets...)}, record.Event{Payload: v})
			p := e.Payload.(record.Invocation)
			for _, s := range secrets {
				quoted, _ := json.Marshal(s)
				for _, form := range []string{s, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)), string(quoted[1 : len(quoted)-1])} {
					for _, got := range []string{string(p.Replies[0].Raw.Text), p.Error, p.Provider} {
						if strings.Contains(got, form) {
							t.Fatalf("%v: %q stands in %q", level, form, got)
						}
					}
				}
			}
		}
	}
}

// TestCredentialNames compares the names that count as credentials to the pattern that
// says which do.
func TestCredentialNames(t *testing.T) {
	pattern := regexp.MustCompile(`(?i)auth|token|secret|key|passw|credential|cookie|session|signature|^sig$|^code$`)
	words := []string{"auth", "TOKEN", "Secret", "k", "ey", "pass", "w", "credential", "Cookie", "ses", "sion", "\u017fession", "\u212aey", "signature", "sig", "Code", "X-", "-", "api", "_", "accept", "é", "\xff", ""}
	rnd, both := rand.New(rand.NewPCG(1, 2)), map[bool]int{}
	for range 5000 {
		name := ""
		for range 1 + rnd.IntN(3) {
			name += words[rnd.IntN(len(words))]
		}
		want := pattern.MatchString(name)
		both[want]++
		if got := record.NamesCredential(name); got != want {
			t.Fatalf("%q: %v, want %v", name, got, want)
		}
	}
	if both[true] < 500 || both[false] < 500 {
		t.Errorf("one-sided: %v", both)
	}
}
