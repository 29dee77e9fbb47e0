package record

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A line is read by its front and its back; what is not of their form is not a line.
func TestFrames(t *testing.T) {
	id := strings.Repeat("ab", idSize)
	line := func(id string, seq, last uint64) string {
		b, _ := appendBack(append(appendFront(nil, id, seq, last, time.Unix(1, 5).UTC()), `"type":"X"`...), 0, DigestOf("p"))
		return string(b)
	}
	for _, c := range []struct {
		id        string
		seq, last uint64
	}{{"", 1, 0}, {id, 7, 0}, {id, 7, 9}, {"", 1e18, 1e18 + 1}} {
		f, err := parseFrame([]byte(line(c.id, c.seq, c.last)))
		if err != nil || f.v != formatVersion || f.first != c.seq || f.last != max(c.last, c.seq) || f.id != c.id || f.prev != DigestOf("p") || f.typ != "X" || f.time != "1970-01-01T00:00:01.000000005Z" {
			t.Errorf("%+v: %+v, %v", c, f, err)
		}
	}
	good := line(id, 7, 9)
	for _, change := range [][2]string{{`{"v":2`, `{"v":0`}, {`{"v":2`, `{"v":`}, {`{"v":2`, `{"w":2`}, {`{"v":2`, `{"v":2147483648`}, {`"seq":7`, `"seq":0`}, {`"seq":7`, `"seq":07`}, {`"seq":7`, `"seq":x`}, {`"seq":7`, `"seg":7`}, {`"last":9`, `"last":6`}, {`"last":9`, `"last":`}, {`"prev":"`, `"prov":"`}, {`"prev":"` + DigestOf("p").String()[:2], `"prev":"zz`}, {"\"}\n", "\"} "}} {
		if bad := strings.Replace(good, change[0], change[1], 1); bad == good {
			t.Errorf("%q is not in the line", change[0])
		} else if f, err := parseFrame([]byte(bad)); err == nil {
			t.Errorf("with %s the line is %+v", change[1], f)
		}
	}
	if f, err := parseFrame([]byte(strings.Replace(good, `{"v":2`, `{"v":2147483647`, 1))); err != nil || f.v != 1<<31-1 {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := parseFrame([]byte(strings.Replace(good, id, id[2:], 1))); err != nil || f.id != "" {
		t.Errorf("with a short identity: %+v, %v", f, err)
	}
	for text, want := range map[string]string{"12": "12  true", "12a": "12 a true", "0": "0  true", "0,": "0 , true", "01": "1  false", "": "0  false", "a": "0 a false", strings.Repeat("9", 19): "9999999999999999999  true", strings.Repeat("9", 20): "9999999999999999999 9 false", "1/": "1 / true", "1:": "1 : true"} {
		n, rest, ok := leadingUint([]byte(text))
		if got := fmt.Sprint(n, " ", string(rest), " ", ok); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if idIf(true, "x")+idIf(false, "y") != "x" {
		t.Error("a line that begins no segment has the identity")
	}
}

// The end of a line is found however far back it is.
func TestLastNewline(t *testing.T) {
	const block = 64 << 10
	for _, c := range []struct {
		text string
		end  int64
		want int64
	}{
		{"", 0, 0}, {"a", 1, 0}, {"\n", 1, 1}, {"a\nb", 3, 2}, {"a\nb\n", 4, 4}, {"a\nb\n", 3, 2}, {"\na", 1, 1}, {"\na", 2, 1}, {"\n" + strings.Repeat("x", block), block + 1, 1}, {"\n" + strings.Repeat("x", block-1), block, 1}, {strings.Repeat("x", 2*block+1), 2*block + 1, 0}, {"ab\n" + strings.Repeat("x", 3*block), 3*block + 3, 3},
	} {
		got, err := lastNewline(strings.NewReader(c.text), c.end)
		if got != c.want || err != nil {
			t.Errorf("%.10q of %d bytes, before %d: %d, %v; want %d", c.text, len(c.text), c.end, got, err, c.want)
		}
	}
	if _, err := lastNewline(strings.NewReader("x"), 2); err == nil {
		t.Error("bytes are read that are not there")
	}
}

// Secrets are taken from headers and addresses by the names there, in the spellings in which
// they may come back.
func TestSecretsOfRequests(t *testing.T) {
	basic := base64.StdEncoding.EncodeToString([]byte("ann:pass-of-ann"))
	s := NewSecrets("configured-1")
	s.AddHeader(http.Header{
		"Authorization": {"Bearer token-abcdef", "Basic " + basic}, "X-Api-Key": {"key-12345678"}, "Cookie": {`a=cookie-123456; b="quoted-12345"; c=short; d=en%20coded-12`}, "Accept": {"not-a-secret-1"}, "X-Token": {"tiny"},
	})
	u, err := url.Parse("https://u:pass-of-url@h/p?api_key=query%2Dsecret1&model=not-a-secret-2&sig=sig-12345678&co%64e=code-12345678")
	if err != nil {
		t.Fatal(err)
	}
	s.AddURL(u)
	s.AddURL(nil)
	for _, secret := range []string{"configured-1", "token-abcdef", basic, "pass-of-ann", "key-12345678", "cookie-123456", "quoted-12345", "en%20coded-12", "en coded-12", "pass-of-url", "query%2Dsecret1", "query-secret1", "sig-12345678", "code-12345678"} {
		if got := s.Redact("<" + secret + ">"); got != "<[secret]>" {
			t.Errorf("%s becomes %s", secret, got)
		}
	}
	for _, text := range []string{"not-a-secret-1", "not-a-secret-2", "short", "tiny", "ann", "model"} {
		if got := s.Redact(text); got != text {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	if s.Unsearched() != 0 || (*Secrets)(nil).Redact("x") != "x" || (*Secrets)(nil).Unsearched() != 0 {
		t.Error("a secret is not searched for")
	}
	for name, want := range map[string]bool{"Authorization": true, "X-API-Key": true, "sig": true, "code": true, "codes": false, "signal": false, "Set-Cookie": true, "SESSION_ID": true, "pa\u017fsword": true, "Accept": false, "password": true, "signature2": true} {
		if namesCredential(name) != want {
			t.Errorf("%s names a credential: %v", name, !want)
		}
	}
	for in, want := range map[string]string{"": "", "https://u:p@h/p?q=1#f": "https://h/p", "http://h?": "http://h", "://": "[not a URL]"} {
		if got := plainURL(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{"/p?q#f": "/p", "/p#f?q": "/p", "/p": "/p"} {
		if got := plainPath(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"": "", "Get \"https://u:p@h/x?api_key=abc&b=1\": EOF": "Get \"https://[secret]@h/x?api_key=[secret]&b=1\": EOF", "Bearer abcd and bearer abc": "Bearer [secret] and bearer abc", "x-api-key: abc": "x-api-key: [secret]", "Set-Cookie=\"a=b\"": "Set-Cookie=\"[secret]\"", "nothing": "nothing",
	} {
		if got := plainError(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	config := plainConfig(map[string]string{"url": "https://u:configured-1@h", "token": "t", "empty-key": "", "model": "m"}, s.needles())
	if fmt.Sprint(config) != "map[empty-key: model:m token:[secret] url:https://[secret]@h]" || plainConfig(nil, nil) != nil {
		t.Error(config)
	}
}

// Secrets are searched for as long as there is room for their spellings; the rest is counted.
func TestRoomForSecrets(t *testing.T) {
	_, size := spellings("0123456789"), 0
	for _, form := range spellings("0123456789") {
		size += len(form)
	}
	long := strings.Repeat("x", maxSecretBytes)
	for _, c := range []struct {
		values []string
		want   int
	}{{nil, 0}, {[]string{"0123456789"}, 0}, {[]string{long + "x"}, 1}, {[]string{long + "x", "0123456789", long + "y"}, 2}} {
		n := newNeedles(c.values)
		if n.unsearched != c.want || (len(n.sets) == 1) != (len(c.values) > c.want) {
			t.Errorf("of %d values %d are not searched for, in %d sets", len(c.values), n.unsearched, len(n.sets))
		}
	}
	var many []string
	for i := range maxSecrets + 3 {
		many = append(many, fmt.Sprintf("s%09d", i))
	}
	most := min(maxSecrets, maxSecretBytes/size)
	if n := newNeedles(many); n.unsearched != len(many)-most && n.unsearched != 3 {
		t.Errorf("%d of %d are not searched for", n.unsearched, len(many))
	}
	a, b := newNeedles([]string{"aaaaaaaa"}), newNeedles([]string{"aaaabbbb"})
	a.unsearched, b.unsearched = 1, 2
	both := a.and(b)
	if both.unsearched != 3 || both.scrub("xaaaaaaaabbbbx bbbb") != "x[secret]x bbbb" || a.and(nil) != a || (*needles)(nil).and(b) != b || (*needles)(nil).scrub("x") != "x" {
		t.Errorf("%d, %q", both.unsearched, both.scrub("xaaaaaaaabbbbx bbbb"))
	}
	if !both.touches([]byte(`{"a":"base64:YQ=="}`)) || !both.touches([]byte("x aaaabbbb")) || both.touches([]byte("x aaaa bbbb")) {
		t.Error("what may hold a secret is not found")
	}
}

// What parseFrame reads from members that follow each other is what it finds when it looks for
// each of them.
func TestMembersAlike(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 4))
	pieces := []string{
		`,"time":"2026-01-02T03:04:05Z"`, `,"record":"00"`, `,"run":"r"`, `,"run":"a\"b"`, `,"run":"type"`, `,"cycle":12`, `,"cycle":-1`, `,"type":"EXCHANGE"`, `,"type":"A\\"`, `,"type":`,
		`,"payload":{"type":"x"}`, `,"new":{"type":"inner"}`, `,"new":["a"]`, `,"new":true`, `,"a:b":"c"`, `"type":"y"`, `"`, `,`, `:`, ``,
	}
	read := 0
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		front := []byte(pieces[0] + b.String())
		var f frame
		if !f.members(front) {
			continue
		}
		read++
		if want := member(front, `"time":"`); f.time != want {
			t.Fatalf("%s: the time %q, want %q", front, f.time, want)
		}
		if want := member(front, `"type":"`); string(f.typ) != want {
			t.Fatalf("%s: the type %q, want %q", front, f.typ, want)
		}
	}
	if read < 2000 {
		t.Errorf("%d were read", read)
	}
}
