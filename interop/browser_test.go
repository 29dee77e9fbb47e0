package interop_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/internal/check/scripted"
)

// page is a web page that requests replies from a gateway in every way that a page
// can, and writes down the results.
const page = `<!doctype html><meta charset="utf-8"><body><script>
const gateway = %q;
const body = JSON.stringify({model: "minimax-m2", messages: [{role: "user", content: "hi"}]});
const tries = {
	plain: () => fetch(gateway + "/v1/chat/completions", {method: "POST", body}),
	blind: () => fetch(gateway + "/v1/chat/completions", {method: "POST", body, mode: "no-cors"}),
	json: () => fetch(gateway + "/v1/chat/completions", {method: "POST", body, headers: {"Content-Type": "application/json", "Authorization": "Bearer guess"}}),
	list: () => fetch(gateway + "/v1/models"),
};
(async () => {
	for (const [name, go] of Object.entries(tries)) {
		let said;
		try {
			const r = await go();
			said = r.status + " " + (await r.text()).includes("Ottawa");
		} catch (e) { said = "failed"; }
		const p = document.createElement("p");
		p.textContent = name + ": " + said;
		document.body.append(p);
	}
	document.title = "done";
})();
</script></body>`

// TestForeignPage opens a page of another site in a real browser. It cannot make
// the gateway spend its key, and reads nothing. A page of an allowed site can.
func TestForeignPage(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium")
	}
	var spent atomic.Int32
	replies := scripted.New(scripted.Options{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		spent.Add(1)
		replies.ServeHTTP(w, r)
	}))
	defer up.Close()
	for _, allowed := range []bool{false, true} {
		t.Run(fmt.Sprintf("allowed=%v", allowed), func(t *testing.T) {
			spent.Store(0)
			var base string
			site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, page, base)
			}))
			defer site.Close()
			var origins []string
			if allowed {
				origins = []string{site.URL}
			}
			u, err := url.Parse(up.URL)
			if err != nil {
				t.Fatal(err)
			}
			g, err := gateway.New(gateway.Config{Upstream: u, UpstreamKey: "key", AllowOrigins: origins})
			if err != nil {
				t.Fatal(err)
			}
			srv := httptest.NewServer(g)
			defer srv.Close()
			base = srv.URL
			dom := open(t, browser, site.URL)
			want, count := []string{"plain: failed", "blind: 0 false", "json: failed", "list: failed"}, 0
			if allowed {
				want, count = []string{"plain: 200 true", "blind: 0 false", "json: 200 true", "list: 200 false"}, 4
			}
			for _, line := range want {
				if !strings.Contains(dom, line) {
					t.Errorf("no %q in %s", line, dom)
				}
			}
			if n := int(spent.Load()); n != count {
				t.Errorf("the upstream was asked %d times, want %d", n, count)
			}
		})
	}
}

// open returns the page as it is in the browser once its script is done.
func open(t *testing.T, browser, address string) string {
	t.Helper()
	out, err := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--user-data-dir="+t.TempDir(), "--virtual-time-budget=5000", "--dump-dom", address).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, dom, _ := strings.Cut(string(out), "</script>")
	return dom
}
