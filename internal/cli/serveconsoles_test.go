package cli

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
	"github.com/sotto-llm/sotto/internal/testing/waiting"
)

// TestConsolesOfGateways: two gateways share a Redis, and each has a console. After a request
// to each, both consoles list both exchanges, of which each has one in its record, and lead to
// them. Over TLS they do so too. When one ends, the other says that its exchanges are missing.
func TestConsolesOfGateways(t *testing.T) {
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("redis-server is not installed")
	}
	redis := startRedis(t)
	for _, with := range []string{"http", "https"} {
		t.Run(with, func(t *testing.T) {
			args := []string{"--shared=" + redis, "--console", "--console-listen=127.0.0.1:0", "--scripted-pause=1ms"}
			client := &http.Client{Transport: &http.Transport{}}
			if with == "https" {
				ca, dir := certificatestest.NewAuthority(t, "ca"), t.TempDir()
				cert, key := ca.Server("gateway.example", time.Now().Add(100*24*time.Hour))
				for name, data := range map[string][]byte{"cert": cert, "key": key} {
					if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				args = append(args, "--tls-cert="+filepath.Join(dir, "cert"), "--tls-key="+filepath.Join(dir, "key"))
				client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}
			}
			secret := "a-secret-of-all-replicas-" + with // each case has a directory of its own
			env := func(name string) string {
				if name == "SOTTO_SHARED_SECRET" {
					return secret
				}
				return ""
			}
			var all []*running
			for range 2 {
				r := startServeWith(t, env, append(args, "--record="+filepath.Join(t.TempDir(), "audit"))...)
				r.client = client
				_, _ = io.Copy(io.Discard, r.chat("minimax-m2", true).Body)
				t.Cleanup(client.CloseIdleConnections)
				all = append(all, r)
			}
			type list struct {
				Rows []struct {
					Record string
					Event  int
				}
				Gateways []struct{ Name, Record, State string }
			}
			read := func(r *running) (l list, err error) {
				resp, err := client.Get(r.console + "/exchanges?format=json")
				if err != nil {
					return l, err
				}
				defer resp.Body.Close()
				return l, json.NewDecoder(resp.Body).Decode(&l)
			}
			for _, r := range all {
				var l list
				waiting.For(t, "the exchanges of both", func() (err error) {
					if l, err = read(r); err == nil && (len(l.Gateways) != 2 || len(l.Rows) != 2 || l.Rows[0].Record == l.Rows[1].Record) {
						err = fmt.Errorf("%+v", l)
					}
					return err
				})
				for _, row := range l.Rows {
					page, err := client.Get(fmt.Sprintf("%s/at/%s/exchanges/%d", r.console, row.Record, row.Event))
					if err != nil {
						t.Fatal(err)
					}
					text, _ := io.ReadAll(page.Body)
					page.Body.Close()
					if page.StatusCode != 200 || !strings.Contains(string(text), "minimax-m2") {
						t.Errorf("%+v: %s", row, page.Status)
					}
				}
			}
			all[1].interrupt(t)
			l, err := read(all[0])
			if err != nil || len(l.Rows) != 1 || len(l.Gateways) != 2 || l.Gateways[1].State == "listed" {
				t.Errorf("after the end of one: %+v %v", l, err)
			}
			all[0].interrupt(t)
		})
	}
}

// startRedis starts a redis-server, and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	server := exec.Command("redis-server", "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir())
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			conn.Close()
			return (&url.URL{Scheme: "redis", Host: fmt.Sprintf("127.0.0.1:%d", port)}).String()
		}
		if time.Now().After(until) {
			t.Fatal(errors.Join(errors.New("redis-server does not listen"), err))
		}
	}
}
