//go:build unix

package cli

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
)

// A revocation is a way to take away what a caller may do. It changes the files of a
// [revoking].
type revocation struct {
	name string
	do   func(f *revoking)
	// want is the status that the caller's requests get then.
	want int
	// alone says that the way exists for a server with one token file, too.
	alone bool
	// certificate says that a client certificate is taken away, and no token.
	certificate bool
}

var revocations = []revocation{
	{"entry removed", func(f *revoking) { f.config("bob") }, http.StatusUnauthorized, false, false},
	{"file emptied", func(f *revoking) { f.write("alice.token", "") }, http.StatusUnauthorized, true, false},
	{"file deleted", func(f *revoking) { f.remove("alice.token") }, http.StatusUnauthorized, true, false},
	{"file unreadable", func(f *revoking) {
		f.remove("alice.token")
		f.must(os.Mkdir(f.file("alice.token"), 0o700)) // root can read every file
	}, http.StatusUnauthorized, true, false},
	{"hash removed", func(f *revoking) { f.write("alice.token", access.HashOf(f.other)+"\n") }, http.StatusUnauthorized, true, false},
	{"token of a broken line", func(f *revoking) { f.write("alice.token", access.HashOf(f.other)+"\nsha256:0\n") }, http.StatusUnauthorized, true, false},
	{"expiry", func(f *revoking) {
		f.write("alice.token", access.HashOf(f.alice)+" expires=2020-01-31\n"+access.HashOf(f.other)+"\n")
	}, http.StatusUnauthorized, true, false},
	{"scope removed", func(f *revoking) { f.config("alice metrics", "bob") }, http.StatusForbidden, false, false},
	{"certificate removed", func(f *revoking) { f.write("clients", string(f.authorityOfBob.PEM)) }, http.StatusUnauthorized, true, true},
}

// The states of the other files while a caller's right is taken away.
var otherFiles = []struct {
	name string
	// make changes the other files, and until stop is called.
	make func(f *revoking) (stop func())
}{
	{"others good", func(*revoking) func() { return func() {} }},
	{"others faulty", func(f *revoking) func() {
		f.faulty = true
		f.write("bob.token", "two words\n")
		f.write("other.json", "[")
		f.config("alice", "bob")
		return func() {}
	}},
	{"others being replaced", func(f *revoking) func() {
		stop, done := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(done)
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				case <-time.After(20 * time.Millisecond):
				}
				_ = os.WriteFile(f.file("bob.token"), []byte(access.HashOf(f.bob)+strings.Repeat("\n", i%7+1)), 0o600)
				_ = os.WriteFile(f.file("other.json"), []byte(otherDialect+strings.Repeat("\n", i%7)), 0o600)
			}
		}()
		return func() { close(stop); <-done }
	}},
}

const otherDialect = `{"v": 1, "dialects": [{"name": "other", "title": "Other", "sources": ["a test"], "models": ["other-*"], "pre_opens": "no", "markers": [{"role": "reasoning", "name": "plan", "open": ["[P]"], "close": ["[/P]"]}]}]}`

// A revoking is a server whose callers lose rights.
type revoking struct {
	t                 *testing.T
	dir               string
	alice, other, bob string // tokens: alice has two
	alices, bobs      tls.Certificate
	authority         *certificatestest.Authority // of the servers and of alice
	authorityOfBob    *certificatestest.Authority
	answered          int  // requests that were answered by a status, if there are certificates
	faulty            bool // the configuration has a typo
	certs             bool
}

func (f *revoking) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *revoking) file(name string) string { return filepath.Join(f.dir, name) }

func (f *revoking) remove(name string) { f.must(os.Remove(f.file(name))) }

func (f *revoking) write(name, text string) {
	f.t.Helper()
	f.must(os.WriteFile(f.file(name+".new"), []byte(text), 0o600))
	f.must(os.Rename(f.file(name+".new"), f.file(name)))
}

// config writes the configuration with these callers; words after a name are its scopes.
func (f *revoking) config(callers ...string) {
	text := "listen: 127.0.0.1:0\nconsole: true\nconsole-listen: 127.0.0.1:0\ndebug-listen: 127.0.0.1:0\na2a: true\nrecord: audit\ndata: data\ndialect-files: [other.json]\n"
	if f.certs {
		text += "tls-cert: cert\ntls-key: key\ntls-client-ca: clients\n"
	}
	if f.faulty {
		text += "disply: hide\n"
	}
	if !f.certs {
		text += "tokens:\n"
		for _, c := range callers {
			name, scopes, given := strings.Cut(c, " ")
			text += "  " + name + ":\n    token-file: " + name + ".token\n"
			if given {
				text += "    scopes: [" + strings.ReplaceAll(scopes, " ", ", ") + "]\n"
			}
		}
	}
	f.write("sotto.yaml", text)
}

func newRevoking(t *testing.T, certs bool) *revoking {
	f := &revoking{t: t, dir: t.TempDir(), alice: access.NewSecret(), other: access.NewSecret(), bob: access.NewSecret(), certs: certs}
	f.authority, f.authorityOfBob = certificatestest.NewAuthority(t, "ca"), certificatestest.NewAuthority(t, "ca of bob")
	f.alices, f.bobs = f.authority.Client("alice"), f.authorityOfBob.Client("bob")
	cert, key := f.authority.Server("localhost", time.Time{})
	f.write("cert", string(cert))
	f.write("key", string(key))
	f.write("clients", string(f.authority.PEM)+string(f.authorityOfBob.PEM))
	f.write("alice.token", access.HashOf(f.alice)+"\n"+access.HashOf(f.other)+"\n")
	f.write("bob.token", access.HashOf(f.bob)+"\n")
	f.write("other.json", otherDialect)
	f.config("alice", "bob")
	return f
}

// start runs the program in the folder until the test ends, and returns the addresses that
// its first lines name.
func (f *revoking) start(until string, args ...string) map[string]string {
	t := f.t
	t.Helper()
	cmd := exec.Command("sotto", args...)
	cmd.Dir, cmd.Env = f.dir, append(os.Environ(), "HOME="+f.dir)
	said, err := cmd.StderrPipe()
	f.must(err)
	f.must(cmd.Start())
	hang := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	at, lines := map[string]string{}, bufio.NewScanner(said)
	for len(at) == 0 || at[until] == "" {
		if !lines.Scan() {
			t.Fatalf("%v has ended: %v", args, cmd.Wait())
		}
		for name, e := range map[string]interface{ FindStringSubmatch(string) []string }{"console": consoleAt, "debug": debugAt, "gateway": gatewayAt, "alone": aloneAt} {
			if m := e.FindStringSubmatch(lines.Text()); m != nil {
				at[name] = m[1]
			}
		}
	}
	rest := make(chan string, 1)
	go func() {
		var all strings.Builder
		for lines.Scan() {
			all.WriteString(lines.Text() + "\n")
		}
		rest <- all.String()
	}()
	t.Cleanup(func() {
		hang.Stop()
		_ = cmd.Process.Signal(os.Interrupt)
		time.AfterFunc(5*time.Second, func() { _ = cmd.Process.Kill() })
		log := <-rest
		if strings.Contains(log, f.alice) || strings.Contains(log, f.bob) {
			t.Errorf("the log has a token: %s", log)
		}
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(log)
		}
	})
	return at
}

// status sends a GET as one of the callers.
func (f *revoking) status(client *http.Client, address, token string, headers ...string) int {
	f.t.Helper()
	r, err := http.NewRequest(http.MethodGet, address, http.NoBody)
	f.must(err)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(r)
	if f.certs && f.answered > 0 && err != nil && strings.Contains(err.Error(), "tls: ") { // a connection that begins now
		return http.StatusUnauthorized
	}
	f.must(err)
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusUnauthorized {
		f.answered++
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// becomes waits until requests get a status: a minute at most, and it says how long that was.
func (f *revoking) becomes(want int, ask func() int) time.Duration {
	f.t.Helper()
	began := time.Now()
	for got := 0; ; time.Sleep(10 * time.Millisecond) {
		if got = ask(); got == want {
			return time.Since(began)
		}
		if time.Since(began) > time.Minute {
			f.t.Fatalf("after a minute still %d, want %d", got, want)
		}
	}
}

// TestRevocations: whatever takes a caller's right away, whatever the state of the other
// files, on every server, the caller's next request is refused. A stream that has begun goes
// on to its end; a WebSocket, a session of the console and its live page end.
func TestRevocations(t *testing.T) {
	var longest struct {
		sync.Mutex
		time.Duration
	}
	t.Run("cells", func(t *testing.T) {
		for _, kind := range revocations {
			chosen := effort.OneIn(2*len(otherFiles), kind.name)
			for _, others := range otherFiles {
				if !chosen() {
					continue
				}
				t.Run(kind.name+", "+others.name, func(t *testing.T) {
					t.Parallel()
					f := newRevoking(t, kind.certificate)
					took := f.revoke(kind, others.make)
					longest.Lock()
					defer longest.Unlock()
					longest.Duration = max(longest.Duration, took)
				})
			}
		}
	})
	t.Logf("the longest took %v", longest.Duration)
}

var aloneAt = errorsIsAt{}

// errorsIsAt finds the address that a command which serves alone prints.
type errorsIsAt struct{}

func (errorsIsAt) FindStringSubmatch(line string) []string {
	if _, at, ok := strings.Cut(line, " is at "); ok {
		return []string{line, strings.TrimSpace(at)}
	}
	return nil
}

// revoke starts the servers, opens what can be open, and takes the right of alice away.
func (f *revoking) revoke(kind revocation, others func(*revoking) func()) (took time.Duration) {
	t := f.t
	at := f.start("gateway", "serve", "--config=sotto.yaml", "--scripted-listen=127.0.0.1:0", "--scripted-pause=25ms")
	if kind.alone {
		flags := []string{"--listen=127.0.0.1:0", "--token-file=alice.token"}
		if f.certs {
			flags = []string{"--listen=127.0.0.1:0", "--tls-cert=cert", "--tls-key=key", "--tls-client-ca=clients"}
		}
		at["mcp"] = f.start("alone", append([]string{"mcp"}, flags...)...)["alone"]
		at["console alone"] = f.start("alone", append([]string{"console", "audit"}, flags...)...)["alone"]
	}
	alice, bob := f.client(f.alices), f.client(f.bobs)
	token, bobs := f.alice, f.bob
	if f.certs {
		token, bobs = "", ""
	}
	servers := map[string]string{
		"gateway": at["gateway"] + "/v1/models", "a2a": at["gateway"] + "/a2a/rest/tasks", "console": at["console"] + "/exchanges?format=json",
	}
	if !f.certs {
		servers["debug"] = at["debug"] + "/debug/log-level"
	}
	if kind.alone {
		servers["mcp"], servers["console alone"] = at["mcp"], at["console alone"]+"/exchanges?format=json"
	}
	for name, address := range servers {
		if got := f.status(alice, address, token); got != http.StatusOK && (name != "mcp" || got != http.StatusMethodNotAllowed) {
			t.Errorf("%s before: %d", name, got)
		}
	}
	open := f.open(alice, at, token)
	stop := sync.OnceFunc(others(f))
	defer stop()
	kind.do(f)
	for _, address := range servers {
		took = max(took, f.becomes(kind.want, func() int { return f.status(alice, address, token) }))
	}
	open()
	stop()
	if !f.faulty { // bob lost nothing; his file may have been read while it was written
		f.becomes(http.StatusOK, func() int { return f.status(bob, at["gateway"]+"/v1/models", bobs) })
	}
	return took
}

func (f *revoking) client(certs ...tls.Certificate) *http.Client {
	c := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.authority.Pool(), ServerName: "localhost", Certificates: certs}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       time.Minute,
	}
	f.t.Cleanup(c.CloseIdleConnections)
	return c
}

// open opens a stream, a WebSocket, and a session of the console with a live page. What it
// returns checks how they end.
func (f *revoking) open(client *http.Client, at map[string]string, token string) (ended func()) {
	t := f.t
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	r, err := http.NewRequest(http.MethodPost, at["gateway"]+"/v1/chat/completions", strings.NewReader(`{"model":"long","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
	f.must(err)
	r.Header = header.Clone()
	stream, err := client.Do(r)
	f.must(err)
	t.Cleanup(func() { stream.Body.Close() })
	frames := begun(t, stream)
	socket, _, err := websocket.Dial(t.Context(), strings.Replace(at["gateway"], "http", "ws", 1)+"/v1/responses", &websocket.DialOptions{HTTPClient: &http.Client{Transport: client.Transport}, HTTPHeader: header})
	f.must(err)
	t.Cleanup(func() { socket.CloseNow() })
	socket.SetReadLimit(-1)
	session := f.session(client, at["console"], token)
	live, err := http.NewRequest(http.MethodGet, at["console"]+"/live", http.NoBody)
	f.must(err)
	live.Header.Set("Cookie", session)
	page, err := (&http.Client{Transport: client.Transport}).Do(live)
	f.must(err)
	t.Cleanup(func() { page.Body.Close() })
	if page.StatusCode != http.StatusOK {
		t.Errorf("the live page: %s", page.Status)
	}
	return func() {
		if session != "" {
			f.becomes(http.StatusUnauthorized, func() int { return f.status(client, at["console"]+"/exchanges?format=json", "", "Cookie", session) })
		}
		f.socketEnds(socket)
		if rest, err := io.ReadAll(frames); err != nil || !strings.Contains(string(rest), "[DONE]") {
			t.Errorf("the stream that had begun ends with %v: %.200s", err, rest)
		}
		if _, err := io.Copy(io.Discard, page.Body); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) { // the stream's exchange has moved the page
			t.Errorf("the live page ends with %v", err)
		}
	}
}

// session logs in, if there are tokens.
func (f *revoking) session(client *http.Client, console, token string) string {
	if token == "" {
		return ""
	}
	resp, err := client.PostForm(console+"/login", url.Values{"token": {token}})
	f.must(err)
	resp.Body.Close()
	for _, c := range resp.Cookies() {
		return c.Name + "=" + c.Value
	}
	f.t.Fatalf("no session: %s", resp.Status)
	return ""
}

// socketEnds checks that a turn over a WebSocket that was open is not answered.
func (f *revoking) socketEnds(c *websocket.Conn) {
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	_ = c.Write(ctx, websocket.MessageText, []byte(`{"type":"response.create","model":"minimax-m2","input":"hi"}`))
	for {
		_, event, err := c.Read(ctx)
		if err != nil {
			if websocket.CloseStatus(err) == -1 && ctx.Err() != nil {
				f.t.Errorf("the WebSocket stays open: %v", err)
			}
			return
		}
		if strings.Contains(string(event), "response.created") {
			f.t.Errorf("the WebSocket answers: %.200s", event)
			return
		}
	}
}

// TestLastToken: a gateway that loses its last token serves nobody, says so, and stays so
// until it is started again with access: open.
func TestLastToken(t *testing.T) {
	for name, lose := range map[string]func(f *revoking){
		"entry removed":      func(f *revoking) { f.config() },
		"key removed":        func(f *revoking) { f.write("sotto.yaml", "listen: 127.0.0.1:0\nallow-hosts: [chat.example]\n") },
		"file emptied":       func(f *revoking) { f.write("alice.token", "# nobody\n") },
		"file deleted":       func(f *revoking) { f.remove("alice.token") },
		"opened in a reload": func(f *revoking) { f.write("sotto.yaml", "listen: 127.0.0.1:0\naccess: open\n") },
	} {
		if effort.Brief() && name != "entry removed" && name != "file deleted" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newRevoking(t, false)
			f.config("alice")
			at := f.start("gateway", "serve", "--config=sotto.yaml", "--scripted-listen=127.0.0.1:0", "--scripted-pause=0s")
			client := f.client()
			lose(f)
			f.becomes(http.StatusUnauthorized, func() int { return f.status(client, at["gateway"]+"/v1/models", f.alice) })
			for i, address := range []string{at["gateway"] + "/v1/models", at["gateway"] + "/metrics", at["gateway"] + "/a2a/rest/tasks", at["console"] + "/exchanges", at["debug"] + "/debug/log-level"} {
				f.becomes(http.StatusUnauthorized, func() int { return f.status(client, address, "") })
				if got := f.status(client, address, f.alice); got != http.StatusUnauthorized {
					t.Errorf("address %d with the token: %d", i, got)
				}
			}
			resp, err := client.Get(at["gateway"] + "/readyz")
			f.must(err)
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "no token is valid") {
				t.Errorf("/readyz: %s %q", resp.Status, text)
			}
			f.write("alice.token", access.HashOf(f.alice)+"\n")
			f.config("alice")
			f.becomes(http.StatusOK, func() int { return f.status(client, at["gateway"]+"/v1/models", f.alice) })
		})
	}
}

// TestStartWithoutToken: what a start without a valid token does, by the settings.
func TestStartWithoutToken(t *testing.T) {
	for text, want := range map[string]int{
		"":                             http.StatusOK, // a gateway of this machine, of which nothing says that it is closed
		"tokens:\n":                    http.StatusUnauthorized,
		"tokens: {}\n":                 http.StatusUnauthorized,
		"token-file: empty\n":          http.StatusUnauthorized,
		"access: closed\n":             http.StatusUnauthorized,
		"access: open\n":               http.StatusOK,
		"access: open\ntokens: {}\n":   0,
		"access: ajar\n":               0,
		"listen: 0.0.0.0:0\n":          0,
		"listen: 0.0.0.0:0\ntokens:\n": http.StatusUnauthorized,
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			t.Parallel()
			f := newRevoking(t, false)
			f.write("empty", "\n# nobody\n")
			if !strings.Contains(text, "listen") {
				text = "listen: 127.0.0.1:0\n" + text
			}
			f.write("sotto.yaml", text+"data: data\n")
			if want == 0 {
				cmd := exec.Command("sotto", "serve", "--config=sotto.yaml", "--check")
				cmd.Dir = f.dir
				if out, err := cmd.CombinedOutput(); err == nil {
					t.Errorf("accepted: %s", out)
				}
				return
			}
			at := f.start("gateway", "serve", "--config=sotto.yaml", "--scripted-listen=127.0.0.1:0", "--scripted-pause=0s")
			if got := f.status(f.client(), at["gateway"]+"/v1/models", ""); got != want {
				t.Errorf("%d, want %d", got, want)
			}
		})
	}
}
