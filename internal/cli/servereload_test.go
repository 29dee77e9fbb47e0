package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/net/access"
	"github.com/sotto-llm/sotto/internal/testing/freeport"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// metrics returns the metrics of the gateway.
func (r *running) metrics() string {
	r.t.Helper()
	resp, err := r.client.Get(r.gateway + "/metrics")
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		r.t.Fatal(resp.Status, err)
	}
	return string(body)
}

// waitFor waits until the metrics have a line.
func (r *running) waitFor(line string) {
	r.t.Helper()
	waiting.For(r.t, "the metric "+line, func() error {
		if all := r.metrics(); !strings.Contains(all, "\n"+line+"\n") {
			return errors.New(all)
		}
		return nil
	})
}

// TestServeReload: a change of the file is used by the next request, and not by a stream
// that runs. A faulty file changes nothing and is reported with its place; flags keep
// their precedence; a key that needs a restart is named. The file is replaced as
// Kubernetes does, by a link that leads elsewhere, and written in place.
func TestServeReload(t *testing.T) {
	dir := t.TempDir()
	volume := func(name, text string) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "sotto.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(name, filepath.Join(dir, "..new")); err != nil {
			t.Skip(err)
		}
		if err := os.Rename(filepath.Join(dir, "..new"), filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	volume("one", "display: field\nnarration: text\n")
	file := filepath.Join(dir, "sotto.yaml")
	if err := os.Symlink(filepath.Join("..data", "sotto.yaml"), file); err != nil {
		t.Skip(err)
	}
	r := startServe(t, "--config="+file, "--reasoning-field=by_flag", "--scripted-pause=1ms")
	reasoning := func() bool {
		body, err := io.ReadAll(r.chat("minimax-m2", false).Body)
		if err != nil || gjson.GetBytes(body, "choices.0.message.content").Str == "" {
			t.Errorf("%v %s", err, body)
		}
		return gjson.GetBytes(body, "choices.0.message.by_flag").Str != ""
	}
	if !reasoning() || !strings.Contains(r.metrics(), "sotto_config_last_reload_successful 1\n") {
		t.Error("no reasoning before the reload")
	}
	volume("two", "display: nowhere\n")
	r.waitFor(`sotto_config_reloads_total{result="failure"} 1`)
	r.waitFor("sotto_config_last_reload_successful 0")
	if !reasoning() {
		t.Error("a faulty file changed what is in use")
	}
	volume("three", "display: hide\nreasoning-field: by_file\nlog-format: json\n")
	r.waitFor(`sotto_config_reloads_total{result="success"} 1`)
	r.waitFor("sotto_config_restart_needed 1")
	if reasoning() {
		t.Error("the new file is not used")
	}
	if err := os.WriteFile(filepath.Join(dir, "three", "sotto.yaml"), []byte("display: field\nreasoning-field: by_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.waitFor(`sotto_config_reloads_total{result="success"} 2`)
	r.waitFor("sotto_config_restart_needed 0")
	if !reasoning() {
		t.Error("the file that was written in place is not used, or the flag has lost its precedence")
	}
	r.signals <- os.Interrupt
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	log := <-r.log
	for _, want := range []string{
		"the settings are not reloaded: those in use stay", file + `:1:10: display: \"nowhere\"`,
		"a setting needs a restart: the value in use stays\" setting=log-format at=" + file + ":3:13",
		"\"a setting has changed\" setting=display old=field new=hide at=" + file + ":1:10",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
}

// TestServeReloadsTokens: a token file that is replaced counts for every server of the
// process, the old token no longer does, and nothing that is kept has either. The new one
// is in the file only as its hash. A session of the console ends with its token.
func TestServeReloadsTokens(t *testing.T) {
	dir := t.TempDir()
	token, kept := filepath.Join(dir, "token"), filepath.Join(dir, "record")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(token+".new", []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(token+".new", token); err != nil {
			t.Fatal(err)
		}
	}
	const first, second = "the-first-token-of-clients", "the-second-token-of-clients"
	write(first)
	r := startServe(t, "--token-file="+token, "--scripted-pause=0s", "--a2a", "--console", "--console-listen=127.0.0.1:0", "--debug-listen=localhost:0", "--record="+kept, "--log-level=debug")
	send := func(address, name, value string) int {
		q, err := http.NewRequest(http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set(name, value)
		resp, err := r.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	everywhere := func(key string, want int) {
		t.Helper()
		for _, address := range []string{r.gateway + "/v1/models", r.gateway + "/metrics", r.gateway + "/a2a/rest/tasks", r.console + "/exchanges?format=json", r.debug + "/debug/log-level"} {
			if got := send(address, "Authorization", "Bearer "+key); got != want {
				t.Errorf("%s with %s: %d, want %d", address, key, got, want)
			}
		}
	}
	everywhere(first, http.StatusOK)
	everywhere(second, http.StatusUnauthorized)
	session := r.login(first)
	if got := send(r.console+"/exchanges", "Cookie", session); got != http.StatusOK {
		t.Errorf("a session: %d", got)
	}
	write(access.HashOf(second))
	waiting.Until(t, "the new token at the gateway", func() bool {
		return send(r.gateway+"/v1/models", "Authorization", "Bearer "+second) == http.StatusOK
	})
	waiting.Until(t, "the new token at the servers beside the gateway", func() bool {
		return send(r.console+"/exchanges?format=json", "Authorization", "Bearer "+second) == http.StatusOK
	})
	everywhere(second, http.StatusOK)
	everywhere(first, http.StatusUnauthorized)
	if got := send(r.console+"/exchanges", "Cookie", session); got != http.StatusUnauthorized {
		t.Errorf("the session of the old token: %d", got)
	}
	q, err := http.NewRequest(http.MethodPost, r.gateway+"/v1/chat/completions", strings.NewReader(`{"model":"`+second+`","messages":[{"role":"user","content":"`+second+`"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+second)
	resp, err := r.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	r.client.CloseIdleConnections()
	r.signals <- os.Interrupt
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if log := <-r.log; strings.Contains(log, "token-of-clients") || !strings.Contains(log, "caller=token") || !strings.Contains(log, `"a setting has changed" setting=token-file old=(secret) new=(changed) at=--token-file`) {
		t.Errorf("the log has a token, or no caller, or does not say that the token has changed: %s", log)
	}
	if err := filepath.WalkDir(kept, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte("token-of-clients")) {
			t.Errorf("%s has a token", path)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// login begins a session of the console, and returns its cookie.
func (r *running) login(token string) string {
	r.t.Helper()
	client := http.Client{Transport: r.client.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.PostForm(r.console+"/login", url.Values{"token": {token}})
	if err != nil {
		r.t.Fatal(err)
	}
	resp.Body.Close()
	for _, c := range resp.Cookies() {
		return c.Name + "=" + c.Value
	}
	r.t.Fatalf("no session: %s", resp.Status)
	return ""
}

// TestServeReloadsReadiness: after a reload, /readyz asks the upstream of the new settings,
// if they want that.
func TestServeReloadsReadiness(t *testing.T) {
	up := httptest.NewServer(http.NotFoundHandler())
	defer up.Close()
	down := "http://" + freeport.Find(t)
	file := filepath.Join(t.TempDir(), "sotto.yaml")
	write := func(upstream, more string) {
		t.Helper()
		if err := os.WriteFile(file+".new", []byte("upstream: "+upstream+"\n"+more), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write(down, "ready-upstream: true\n")
	r := startServe(t, "--config="+file)
	for i, step := range []struct {
		upstream, more string
		want           int
	}{
		{want: http.StatusServiceUnavailable},
		{down, "ready-upstream: true\ndisplay: hide\n", http.StatusServiceUnavailable},
		{up.URL, "ready-upstream: true\n", http.StatusOK},
		{down, "ready-upstream: true\n", http.StatusServiceUnavailable},
		{down, "", http.StatusOK},
	} {
		if i > 0 {
			write(step.upstream, step.more)
			r.waitFor(fmt.Sprintf(`sotto_config_reloads_total{result="success"} %d`, i))
		}
		resp, err := r.client.Get(r.gateway + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != step.want {
			t.Errorf("step %d: %d, want %d", i, resp.StatusCode, step.want)
		}
	}
	r.signals <- os.Interrupt
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	<-r.log
}
