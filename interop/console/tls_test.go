package console

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"

	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
)

// TestConsoleOverTLS: a person logs in to sotto console over TLS, the browser keeps the
// session for TLS alone, and the pages keep their rules.
func TestConsoleOverTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := certificatestest.NewAuthority(t, "ca").Server("console.example", time.Time{})
	for name, data := range map[string]string{"cert.pem": string(cert), "key.pem": string(key), "token": "a-token-of-a-person"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	base := announced(t, program(t), dir, "the console is at", "console", "--listen", "127.0.0.1:0", "--token-file", "token", "--tls-cert", "cert.pem", "--tls-key", "key.pem")["the console is at"]
	if !strings.HasPrefix(base, "https://") {
		t.Fatal(base)
	}
	b := open(t, base)
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error { // it does not know the authority
		_, err := cdp.Call(ctx, target, security.SetIgnoreCertificateErrors, security.SetIgnoreCertificateErrorsParams{Ignore: true})
		return err
	}))
	b.visit("/playground")
	b.until(`document.querySelector("input[name=token]") != null`)
	js[any](b, `(document.querySelector("input[name=token]").value = "a-token-of-a-person", document.querySelector("input[name=token]").form.requestSubmit(), null)`)
	b.until(`location.pathname == "/playground" && document.querySelector("input[name=token]") == null && document.querySelector("textarea") != null`)
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		got, err := cdp.Call(ctx, target, network.GetCookies, network.GetCookiesParams{})
		if err != nil {
			return err
		}
		if len(got.Cookies) == 0 {
			t.Error("there is no session")
		}
		for _, c := range got.Cookies {
			if !c.Secure || !c.HTTPOnly {
				t.Errorf("the cookie %s: Secure is %v, HttpOnly is %v", c.Name, c.Secure, c.HTTPOnly)
			}
		}
		return nil
	}))
	if v := js[[]string](b, "violations"); len(v) > 0 {
		t.Errorf("violations of the policy: %q", v)
	}
	for _, r := range b.requests {
		if !strings.HasPrefix(r, base) {
			t.Errorf("a request to %s", r)
		}
	}
}
