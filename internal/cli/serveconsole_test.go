package cli

import (
	"bufio"
	"errors"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// TestServeConsole: with --console the record has its page, on an address of its own,
// and a page that follows the record does not hold up a shutdown. The gateway's own
// address has no route of it, and without --console there is none at all.
func TestServeConsole(t *testing.T) {
	get := func(r *running, address string) string {
		resp, err := r.client.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	for _, on := range []bool{true, false} {
		args := []string{"--record=" + filepath.Join(t.TempDir(), "audit"), "--scripted-pause=1ms"}
		if on {
			args = append(args, "--console", "--console-listen=127.0.0.1:0")
		}
		r := startServe(t, args...)
		if page := get(r, r.gateway+"/exchanges"); strings.Contains(page, "console.js") {
			t.Errorf("console %t: the gateway serves its page", on)
		}
		if on != (r.console != "") {
			t.Fatalf("console %t: it is at %q", on, r.console)
		}
		if on {
			_, _ = io.Copy(io.Discard, r.chat("minimax-m2", true).Body)
			waiting.For(t, "the exchange on the page", func() error {
				if page := get(r, r.console+"/exchanges"); !strings.Contains(page, "minimax-m2") {
					return errors.New(page)
				}
				return nil
			})
			page := get(r, r.console+"/health")
			for _, part := range []string{"reachable", "sotto_exchanges_total", "minimax-m2", "console: true", `action="health/forget"`} {
				if !strings.Contains(page, part) {
					t.Errorf("the health has no %s: %s", part, page)
				}
			}
			resp, err := r.client.PostForm(r.console+"/health/forget", url.Values{"model": {"minimax-m2"}, "confirm": {"minimax-m2"}})
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if page := get(r, r.console+"/health"); strings.Contains(page, `value="minimax-m2"`) {
				t.Errorf("the start is not forgotten: %s", page)
			}
			live, err := r.client.Get(r.console + "/live")
			if err != nil {
				t.Fatal(err)
			}
			defer live.Body.Close()
			if line, err := bufio.NewReader(live.Body).ReadString('\n'); err != nil || line == "" {
				t.Errorf("%q %v", line, err)
			}
		}
		r.interrupt(t)
	}
}

// TestServeChat: sotto serve --console alone has a chat in which the scripted upstream
// answers. A conversation is there again after a restart. The reply is recorded under the
// console's name if there is a record.
func TestServeChat(t *testing.T) {
	data, audit := t.TempDir(), filepath.Join(t.TempDir(), "audit")
	post := func(r *running, path, body string) (status int, text string) {
		resp, err := r.client.Post(r.console+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		all, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(all)
	}
	get := func(r *running, path string) string {
		resp, err := r.client.Get(r.console + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		all, _ := io.ReadAll(resp.Body)
		return string(all)
	}
	args := []string{"--data=" + data, "--scripted-pause=0s", "--console", "--console-listen=127.0.0.1:0"}
	r := startServe(t, args...)
	if page := get(r, ""); !strings.Contains(page, "qwen3:8b") || strings.Contains(page, `href="../exchanges"`) {
		t.Errorf("the first page is not a chat without a record: %s", page)
	}
	status, lines := post(r, "/chat/send", `{"id":"new","text":"A question about **bees**","model":"qwen3:8b"}`)
	id := regexp.MustCompile(`"id":"([0-9a-f]{32})"`).FindStringSubmatch(lines)
	if status != 200 || id == nil || !strings.Contains(lines, `"k":"thought"`) || !strings.Contains(lines, `"k":"end"`) {
		t.Fatalf("%d %s", status, lines)
	}
	r.interrupt(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"script.yaml": "- text: <think>It is a small one.</think>The agent's answer.\n",
		"agent.yaml":  "v: 1\nname: boss\nstart: outside\nmodel: {provider: scripted, script: script.yaml}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r = startServe(t, append(args, "--record="+audit, "--agent="+filepath.Join(dir, "agent.yaml"))...)
	if page := get(r, "/chat/new"); !strings.Contains(page, "<option>agent/boss</option>") {
		t.Errorf("the agent is not in the list: %s", page)
	}
	if _, lines := post(r, "/chat/send", `{"id":"new","text":"How many?","model":"agent/boss"}`); !strings.Contains(lines, "The agent's answer.") || !strings.Contains(lines, `"k":"thought"`) {
		t.Errorf("the agent: %s", lines)
	}
	if page := get(r, "/chat/"+id[1]); !strings.Contains(page, "A question about **bees**") || !strings.Contains(page, `id="m2"`) {
		t.Errorf("after a restart: %s", page)
	}
	if _, lines := post(r, "/chat/send", `{"id":"`+id[1]+`","after":2,"text":"And wasps?","model":"qwen3:8b"}`); !strings.Contains(lines, `"n":4`) {
		t.Errorf("after a restart: %s", lines)
	}
	waiting.For(t, "the exchange in the record", func() error {
		if list := get(r, "/exchanges?format=json"); !strings.Contains(list, `"caller":"console"`) {
			return errors.New(list)
		}
		return nil
	})
	r.interrupt(t)
}
