package cli

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
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
	for until := time.Now().Add(time.Minute); !strings.Contains(r.metrics(), "\n"+line+"\n"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			r.t.Fatalf("never %q:\n%s", line, r.metrics())
		}
	}
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

// TestServeReloadsToken: a token file that is replaced counts, the old token no longer
// does, and the record has neither.
func TestServeReloadsToken(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(token+".new", []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(token+".new", token); err != nil {
			t.Fatal(err)
		}
	}
	write("the-first-token-of-clients")
	r := startServe(t, "--token-file="+token, "--scripted-pause=0s")
	status := func(key string) int {
		q, err := http.NewRequest(http.MethodGet, r.gateway+"/v1/models", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+key)
		resp, err := r.client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if got := status("the-first-token-of-clients"); got != 200 {
		t.Fatal(got)
	}
	write("the-second-token-of-clients")
	for until := time.Now().Add(time.Minute); status("the-second-token-of-clients") != 200; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the new token is never accepted")
		}
	}
	if got := status("the-first-token-of-clients"); got != http.StatusUnauthorized {
		t.Errorf("the old token: %d", got)
	}
	r.signals <- os.Interrupt
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	if log := <-r.log; strings.Contains(log, "token-of-clients") || !strings.Contains(log, `"a setting has changed" setting=token-file old=(secret) new=(changed) at=--token-file`) {
		t.Errorf("the log has a token, or does not say that it has changed: %s", log)
	}
}

// TestServeReloadsReadiness: after a reload, /readyz asks the upstream of the new settings,
// if they want that.
func TestServeReloadsReadiness(t *testing.T) {
	up := httptest.NewServer(http.NotFoundHandler())
	defer up.Close()
	down := httptest.NewServer(http.NotFoundHandler())
	down.Close()
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
	write(down.URL, "ready-upstream: true\n")
	r := startServe(t, "--config="+file)
	for i, step := range []struct {
		upstream, more string
		want           int
	}{
		{want: http.StatusServiceUnavailable},
		{down.URL, "ready-upstream: true\ndisplay: hide\n", http.StatusServiceUnavailable},
		{up.URL, "ready-upstream: true\n", http.StatusOK},
		{down.URL, "ready-upstream: true\n", http.StatusServiceUnavailable},
		{down.URL, "", http.StatusOK},
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
