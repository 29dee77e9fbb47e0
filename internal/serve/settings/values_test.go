package settings

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sotto-llm/sotto/internal/base/sealing"
	"github.com/sotto-llm/sotto/internal/net/certificates/certificatestest"
)

// TestIsOwn: a URL leads to the gateway itself if the listener would get its requests, by
// whichever name.
func TestIsOwn(t *testing.T) {
	for _, c := range []struct {
		listen, url string
		want        bool
	}{
		{"127.0.0.1:8383", "http://127.0.0.1:8383/v1", true},
		{"127.0.0.1:8383", "http://127.0.0.1:8384", false},
		{"127.0.0.1:8383", "http://127.0.0.2:8383", false},
		{"127.0.0.1:8383", "http://localhost:8383", true},
		{"127.0.0.1:8383", "http://LocalHost:8383", true},
		{"127.0.0.1:8383", "http://0.0.0.0:8383", true},
		{"127.0.0.1:8383", "http://[::]:8383", true},
		{"127.0.0.1:8383", "http://models.example:8383", false},
		{"[::1]:8383", "http://[::1]:8383", true},
		{"[::1]:8383", "http://[0:0::1]:8383", true},
		{"localhost:8383", "http://127.0.0.1:8383", true},
		{"localhost:8383", "http://[::1]:8383", true},
		{"LOCALHOST:8383", "http://127.0.0.1:8383", true},
		{"localhost:8383", "http://127.0.0.2:8383", false},
		{"localhost:8383", "http://models.example:8383", false},
		{"192.0.2.1:8383", "http://192.0.2.1:8383", true},
		{"192.0.2.1:8383", "http://localhost:8383", false},
		{"192.0.2.1:8383", "http://0.0.0.0:8383", false},
		{"192.0.2.1:8383", "http://192.0.2.2:8383", false},
		{"gateway.example:8383", "http://Gateway.Example:8383", true},
		{"gateway.example:8383", "http://localhost:8383", false},
		{"gateway.example:8383", "http://192.0.2.1:8383", false},
		{":8383", "http://localhost:8383", true},
		{":8383", "http://127.5.5.5:8383", true},
		{":8383", "http://[::]:8383", true},
		{":8383", "http://192.0.2.1:8383", false},
		{":8383", "http://models.example:8383", false},
		{"0.0.0.0:8383", "http://localhost:8383", true},
		{"[::]:8383", "http://127.0.0.1:8383", true},
		{":80", "http://localhost", true},
		{":80", "https://localhost", false},
		{":443", "https://localhost", true},
		{":443", "https://localhost:80", false},
		{":0", "http://localhost:0", false},
		{"8383", "http://localhost:8383", false},
	} {
		u, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := isOwn(u, c.listen); got != c.want {
			t.Errorf("listener %s: %s: %v, want %v", c.listen, c.url, got, c.want)
		}
	}
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		ip, _, err := net.ParseCIDR(a.String())
		if err != nil {
			continue
		}
		u := &url.URL{Scheme: "http", Host: net.JoinHostPort(ip.String(), "8383")}
		if !isOwn(u, ":8383") || isOwn(u, "192.0.2.1:8383") {
			t.Errorf("%s is an address of this machine", ip)
		}
	}
}

// TestValues: what the values of keys may be, at the edges.
func TestValues(t *testing.T) {
	const right, wrong = true, false
	for key, values := range map[string]map[string]bool{
		"listen":              {"localhost:65535": right, "localhost:65536": wrong, "':0'": right, "'localhost:'": wrong, "'[::1]:1'": right, "localhost:-1": wrong, "''": wrong},
		"allow-origins":       {"[https://a]": right, "[https://a:1]": right, "[app://a]": right, "['*']": right, "['null']": right, "[https://a/]": wrong, "[https://u@a]": wrong, "[a]": wrong, "['//a']": wrong, "['https://']": wrong, "['https://a?b']": wrong, "['%']": wrong},
		"a2a-url":             {"https://a": right, "http://a/b?c": right, "a": wrong, "ftp://a": wrong, "'https://'": wrong, "'http://%zz'": wrong},
		"upstream":            {"https://a": right, "http://a:1/b": right, "ftp://a": wrong, "'http://'": wrong, "'http://:1'": wrong, "'http://a?'": wrong, "'http://a#b'": wrong, "'http://%zz'": wrong},
		"a2a-push-to":         {"[10.0.0.0/8]": right, "[10.0.0.1]": wrong, "['::/0']": right},
		"thinking-limit":      {"1 tokens": right, "0 tokens": wrong, "-1 tokens": wrong, "2147483647 tokens": right, "2147483648 tokens": wrong, "x tokens": wrong, "1": right, "0": wrong, "64KiB": right, "[1]": wrong, "true": wrong},
		"guard-every":         {"whole": right, "1": right, "0": wrong, "2KiB": right, "x": wrong, "-1": wrong, "[1]": wrong},
		"upstream-retries":    {"0": right, "1": right, "-1": wrong, "x": wrong},
		"limits: {labels":     {"1}": right, "0}": wrong, "-1}": wrong, "0x10}": right, "1.5}": wrong, "'1'}": wrong},
		"limits: {memory":     {"1}": right, "0}": wrong, "1GiB}": right, "x}": wrong},
		"keep-alive":          {"1ns": right, "0s": wrong, "-1ns": wrong, "x": wrong, "1": wrong},
		"shutdown-delay":      {"0s": right, "-1ns": wrong, "1ns": right},
		"debug-listen":        {"localhost:1": right, "10.0.0.1:1": wrong},
		"log-level":           {"debug": right, "error": right, "x": wrong},
		"log-format":          {"text": right, "json": right, "x": wrong},
		"access":              {"open": right, "closed": right, "x": wrong},
		"reasoning-field":     {"a": right, "'a, b'": right, "[a, b]": right, "7": wrong, "[7]": wrong},
		"pass-all":            {"true": right, "false": right, "yes": wrong, "1": wrong},
		"guard":               {"off": right, "http://a": right, "x": wrong},
		"otel-endpoint":       {"http://a": right, "a": wrong},
		"v":                   {"1": right, "2": wrong, "'1'": wrong, "true": wrong},
		"allow-hosts":         {"[a]": right, "['']": wrong, "a": wrong, "[]": right},
		"upstreams: {a: {url": {"'http://a'}}": right, "a}}": wrong},
	} {
		for value, want := range values {
			if _, faults := readText(key + ": " + value + "\n"); (faults == "") != want {
				t.Errorf("%s: %s: %q", key, value, faults)
			}
		}
	}
	for text, want := range map[string]bool{"127.0.0.1:1": true, "0.0.0.0:1": false, "x": false} {
		if err := checkScripted(text); (err == nil) != want {
			t.Errorf("scripted-listen %s: %v", text, err)
		}
	}
}

// TestTokensExpire: a token that is no longer valid is warned about, and one that soon
// will not be, by the name of its caller.
func TestTokensExpire(t *testing.T) {
	for _, c := range []struct {
		in   time.Duration
		said string
	}{
		{-time.Hour, "expired on"}, {soon - time.Hour, "expires on"}, {soon + time.Hour, ""}, {0, ""},
	} {
		at := time.Now().Add(c.in).UTC()
		line := "sotto-0123456789abcdef0123456789abcdef-0123"
		if c.in != 0 {
			line += " expires=" + at.Format(time.RFC3339)
		}
		for name, text := range map[string]string{"the token": "token-file: t\n", "the token alice": "tokens: {alice: {token-file: t}}\n"} {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "t"), []byte(line), 0o600); err != nil {
				t.Fatal(err)
			}
			s := mustRead(t, sourcesOf(t, folder, "upstream: http://localhost:1\n"+text, nil))
			var want []string
			if c.said != "" {
				want = append(want, fmt.Sprintf("%s %s %s", name, c.said, at.Format(time.DateOnly)))
			}
			if c.in < 0 {
				want = append(want, ShutText)
			}
			if !slices.Equal(s.Warnings, want) || len(s.Faults) > 0 || s.Shut() != (c.in < 0) {
				t.Errorf("in %v: %q, want %q; faults %v, shut %v", c.in, s.Warnings, want, s.Faults, s.Shut())
			}
		}
	}
}

// TestCollectorWarnings: what would go over the network unencrypted is warned about, texts
// and headers, and each once.
func TestCollectorWarnings(t *testing.T) {
	for _, c := range []struct {
		text string
		env  map[string]string
		want []string
	}{
		{"otel-endpoint: http://localhost:4318\notel-content: true\n", map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "k=v"}, nil},
		{"otel-endpoint: https://c.example\notel-content: true\n", map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "k=v"}, nil},
		{"otel-endpoint: http://c.example\n", nil, nil},
		{"otel-endpoint: http://c.example\notel-content: true\n", nil, []string{"the texts of requests and replies go to c.example unencrypted: its URL is http"}},
		{"otel-endpoint: http://c.example\n", map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "k=v"}, []string{"the headers of OTEL_EXPORTER_OTLP_HEADERS go to c.example unencrypted: its URL is http"}},
		{"otel-endpoint: https://c.example\notel-content: true\n", map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "k=v", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m.example"}, []string{"the headers of OTEL_EXPORTER_OTLP_HEADERS go to m.example unencrypted: its URL is http"}},
		{"otel-content: true\n", nil, []string{"sotto.yaml:2:15: otel-content: there is no collector for the texts: name one with otel-endpoint"}},
		{"otel-endpoint: http://c.example\n", map[string]string{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "x"}, []string{"sotto.yaml:2:16: otel-endpoint: OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE is not cumulative, delta or lowmemory"}},
	} {
		folder := t.TempDir()
		s := mustRead(t, sourcesOf(t, folder, "upstream: http://localhost:1\n"+c.text, c.env))
		got := s.Warnings
		for _, f := range s.Faults {
			got = append(got, strings.TrimPrefix(f.Error(), folder+string(filepath.Separator)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s%v: %q, want %q", c.text, c.env, got, c.want)
		}
	}
}

// TestSharedPassword: the password of the shared state is warned about where it would go
// over the network unencrypted, and settings of a shared state that there is not are idle.
func TestSharedPassword(t *testing.T) {
	secret := strings.Repeat("s", sealing.MinSecret)
	idle := "shared-password-file does nothing without shared"
	for _, c := range []struct {
		text string
		env  map[string]string
		want []string
	}{
		{"shared: redis://localhost:1\n", map[string]string{"SOTTO_SHARED_SECRET": secret, "SOTTO_SHARED_PASSWORD": "password"}, nil},
		{"shared: redis://r.example:1\n", map[string]string{"SOTTO_SHARED_SECRET": secret}, nil},
		{"shared: redis://r.example:1\n", map[string]string{"SOTTO_SHARED_SECRET": secret, "SOTTO_SHARED_PASSWORD": "password"}, []string{"the password of the shared state goes to r.example:1 unencrypted: use rediss"}},
		{"shared: rediss://r.example:1\n", map[string]string{"SOTTO_SHARED_SECRET": secret, "SOTTO_SHARED_PASSWORD": "password"}, nil},
		{"shared: redis://localhost:1\n", map[string]string{"SOTTO_SHARED_SECRET": secret[1:]}, []string{"shared-secret-file: the secret has 15 bytes: want 16 or more"}},
		{"v: 1\n", map[string]string{"SOTTO_SHARED_SECRET": secret}, nil},
		{"shared-secret-file: f\n", nil, nil},
		{"v: 1\n", map[string]string{"SOTTO_SHARED_SECRET": secret + "\n" + secret[1:]}, []string{"shared-secret-file: secret 2: the secret has 15 bytes: want 16 or more"}},
		{"v: 1\n", map[string]string{"SOTTO_SHARED_SECRET": "a new secret"}, []string{"shared-secret-file: the secret holds white space, control characters or non-ASCII characters"}},
		{"v: 1\n", map[string]string{"SOTTO_SHARED_SECRET": secret + "\n" + secret + "-old\n" + secret + "-older"}, nil},
		{"shared-password-file: f\n", nil, []string{idle}},
	} {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "f"), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustRead(t, sourcesOf(t, folder, "upstream: http://localhost:2\n"+c.text, c.env))
		got := s.Warnings
		for _, f := range s.Faults {
			got = append(got, f.key+": "+f.Err.Error())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s%v: %q, want %q", c.text, c.env, got, c.want)
		}
		given := c.env["SOTTO_SHARED_SECRET"]
		if c.text == "shared-secret-file: f\n" {
			given = secret
		}
		if len(s.Faults) > 0 {
			given = ""
		}
		var old []string
		for _, one := range s.Gateway.OldSecrets {
			old = append(old, "\n"+string(one))
		}
		if got := string(s.Gateway.SharedSecret) + strings.Join(old, ""); got != given {
			t.Errorf("%s: secrets %q, want %q", c.text, got, given)
		}
	}
}

// TestTLS: a certificate is read before the gateway serves, and a fault names the key that
// it belongs to. Those of domains are obtained later.
func TestTLS(t *testing.T) {
	folder := t.TempDir()
	cert, private := certificatestest.NewAuthority(t, "authority").Server("gateway.example", time.Now().Add(365*24*time.Hour))
	ending, endingKey := certificatestest.NewAuthority(t, "authority").Server("gateway.example", time.Now().Add(time.Hour))
	for name, data := range map[string][]byte{"cert": cert, "key": private, "ending": ending, "ending-key": endingKey, "junk": []byte("junk")} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const acme = "tls-domains: [gateway.example]\nacme-accept-terms: true\n"
	for _, c := range []struct {
		text      string
		fault     string // its key
		warns     bool
		encrypted bool
		closed    bool
	}{
		{"v: 1\n", "", false, false, false},
		{"tls-cert: cert\ntls-key: key\n", "", false, true, false},
		{"tls-cert: ending\ntls-key: ending-key\n", "", true, true, false},
		{"tls-cert: cert\ntls-key: ending-key\n", "tls-cert", false, true, false},
		{"tls-cert: junk\ntls-key: key\n", "tls-cert", false, true, false},
		{"tls-cert: cert\n", "tls-cert", false, true, false},
		{"tls-key: key\n", "tls-key", false, false, false},
		{"tls-client-ca: cert\n", "tls-client-ca", false, false, true},
		{"tls-cert: cert\ntls-key: key\ntls-client-ca: cert\n", "", false, true, true},
		{"tls-cert: cert\ntls-key: key\ntls-client-ca: junk\n", "tls-cert", false, true, true},
		{acme, "", false, true, false},
		{acme + "tls-client-ca: cert\n", "", false, true, true},
		{acme + "tls-client-ca: junk\n", "tls-client-ca", false, true, true},
		{acme + "tls-cert: cert\ntls-key: key\n", "tls-domains", false, true, false},
		{"tls-domains: [gateway.example]\n", "tls-domains", false, true, false},
	} {
		s := mustRead(t, sourcesOf(t, folder, "upstream: http://localhost:1\ndata: data\nallow-hosts: [other.example]\n"+c.text, nil))
		var faults []string
		for _, f := range s.Faults {
			faults = append(faults, f.Key())
		}
		if got := strings.Join(faults, " "); got != c.fault || len(s.Warnings) > 0 != c.warns || s.Encrypted() != c.encrypted || s.Closed() != c.closed {
			t.Errorf("%s: faults %v, warnings %q, encrypted %v, closed %v", c.text, s.Faults, s.Warnings, s.Encrypted(), s.Closed())
		}
		hosts, kept := []string{"other.example"}, 0
		if strings.Contains(c.text, "tls-domains") {
			hosts, kept = append(hosts, "gateway.example"), 1
		}
		if got := s.Hosts(); !slices.Equal(got, hosts) {
			t.Errorf("%s: hosts %q, want %q", c.text, got, hosts)
		}
		if got := s.Certificates(); len(got) != kept || kept > 0 && !strings.HasPrefix(got[0], "there is no certificate of gateway.example yet: the gateway asks https://acme-v02.api.letsencrypt.org/directory for one") {
			t.Errorf("%s: %q", c.text, got)
		}
	}
}

// TestUnset: of a value that may be unset, nothing is printed if it is.
func TestUnset(t *testing.T) {
	var size int64
	var count, thinking, every int
	var wait time.Duration
	values := map[string]value{"size": sizeOrNone(&size), "count": countOrNone(&count), "thinking": thinkingValue(&thinking), "every": wholeOrSize(&every), "wait": orUnset(durationValue(&wait))}
	for name, v := range values {
		if got := v.get(); got != nil {
			t.Errorf("%s: %v, want nothing", name, got)
		}
	}
	size, count, thinking, every, wait = 1, 1, 1, 1, time.Nanosecond
	for name, want := range map[string]any{"size": "1", "count": 1, "thinking": "1", "every": "1", "wait": "1ns"} {
		if got := values[name].get(); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
