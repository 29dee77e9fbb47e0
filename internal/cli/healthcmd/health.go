// Package healthcmd has the command that asks a gateway for its health.
package healthcmd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/cli/shell"
	"github.com/sotto-llm/sotto/internal/net/certificates"
	"github.com/sotto-llm/sotto/internal/reply/dialectset"
	"github.com/sotto-llm/sotto/internal/serve/settings"
)

// Command holds the flags.
type Command struct {
	URL        string        `arg:"" optional:"" name:"URL" help:"The base URL of the gateway. Without it, the address in the settings of the gateway on this machine."`
	Config     string        `placeholder:"FILE" setting:"SOTTO_CONFIG" help:"Read these settings from FILE (YAML)."`
	Live       bool          `help:"Ask only whether the process lives, not whether it takes requests."`
	CA         string        `name:"ca" placeholder:"FILE" help:"Trust the certificate authorities in FILE (PEM) and no others."`
	ClientCert string        `placeholder:"FILE" help:"The file with the certificate for a gateway that asks clients for one (PEM)."`
	ClientKey  string        `placeholder:"FILE" help:"The file with its key (PEM)."`
	Time       time.Duration `default:"5s" placeholder:"TIME" help:"How long the answer may take (${default})."`
}

// Help shows examples.
func (Command) Help() string {
	return `Asks /readyz of a gateway, or /healthz with --live, and prints one line. No token is needed. It is for containers that have no other program, and for scripts. Exit status: 0 the gateway is ready, 1 it is not or cannot be reached, 2 wrong usage.

Without URL it asks the gateway of this machine at the address that listen: has in FILE or in $SOTTO_LISTEN (127.0.0.1:8383). If that gateway has a certificate of its own, the answer must come with this very certificate, whatever name is in it; if it has several, with that of the first domain.

Examples:

    sotto health
    sotto health --config /etc/sotto/sotto.yaml
    sotto health --live http://gateway:8383
    sotto health --ca ca.pem https://gateway.example`
}

// Validate refuses flags that cannot be combined.
func (c *Command) Validate() error {
	switch {
	case c.URL != "" && c.Config != "":
		return errors.New("--config and URL cannot be combined: both name the gateway")
	case (c.ClientCert == "") != (c.ClientKey == ""):
		return errors.New("--client-cert and --client-key must be given together")
	case c.Time <= 0:
		return fmt.Errorf("--time %v: want more than 0", c.Time)
	}
	return nil
}

// Run asks, and prints the answer.
func (c *Command) Run(sh *shell.Shell, names *dialectset.Set) error {
	at, trust, err := c.target(sh, names)
	if err != nil {
		return err
	}
	if c.ClientCert != "" {
		if trust.Certificates, err = certificates.ClientPair(c.ClientCert, c.ClientKey); err != nil {
			return err
		}
	}
	transport := &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}
	if c.URL != "" { // the gateway of this machine is not behind a proxy
		transport.Proxy = http.ProxyFromEnvironment
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	path, word := "readyz", "ready"
	if c.Live {
		path, word = "healthz", "alive"
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.Time)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.JoinPath(path).String(), http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(r)
	if err != nil {
		return unreached(at, err, c)
	}
	defer resp.Body.Close()
	text := make([]byte, maxAnswer)
	n, _ := io.ReadFull(resp.Body, text) // a part will do
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s is not %s: %s", at, word, shorttext.Escape(strings.TrimSpace(resp.Status+" "+string(text[:n])), maxAnswer))
	}
	_, err = fmt.Fprintf(sh.Text, "%s: %s\n", word, at)
	if said := shorttext.Escape(strings.TrimSpace(string(text[:n])), maxAnswer); strings.HasPrefix(said, word+", but ") {
		sh.Hintf("%s", said)
	}
	return err
}

// maxAnswer bounds what is read and shown of an answer.
const maxAnswer = 200

// unreached is the error of a gateway that gave no answer.
func unreached(at *url.URL, err error, c *Command) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the URL again
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer in %v", c.Time)
	}
	err = fmt.Errorf("%s: %w", at, err)
	// crypto/tls has no type for the alerts of the other side: that of TLS 1.3, and of 1.2.
	if text := err.Error(); c.ClientCert == "" && (strings.HasSuffix(text, "tls: certificate required") || strings.HasSuffix(text, "tls: bad certificate")) {
		return errorhint.Add(err, "the gateway asks clients for a certificate: give one with --client-cert and --client-key")
	}
	return err
}

// target returns where the gateway is, and which certificates it may have.
func (c *Command) target(sh *shell.Shell, names *dialectset.Set) (at *url.URL, trust *tls.Config, err error) {
	var pinned, domain string
	if c.URL != "" {
		at, err = url.Parse(c.URL)
		if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil {
			return nil, nil, errorhint.Usage(fmt.Errorf("%q is not the base URL of a gateway", c.URL), "want a URL such as http://localhost:8383")
		}
		at.RawQuery, at.Fragment = "", ""
	} else if at, pinned, domain, err = c.local(sh, names); err != nil {
		return nil, nil, err
	}
	switch {
	case c.CA != "":
		trust, err = certificates.Trust(c.CA)
	case pinned != "":
		trust, err = certificates.Pin(pinned)
	default:
		trust = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if err == nil {
		trust.ServerName = domain
	}
	return at, trust, err
}

// local finds the gateway of this machine by its settings. Faults in them do not count:
// a gateway that runs has read them when they had none. cert is the file with its
// certificate, and domain is the name that it is asked for, if it has several.
func (c *Command) local(sh *shell.Shell, names *dialectset.Set) (at *url.URL, cert, domain string, err error) {
	from := settings.Sources{File: c.Config, Getenv: sh.Getenv, Given: func(string) bool { return false }}
	for key, variable := range map[string]string{"listen": "SOTTO_LISTEN", "tls-cert": "SOTTO_TLS_CERT", "tls-key": "SOTTO_TLS_KEY", "data": "SOTTO_DATA_DIR", "tls-domains": "SOTTO_TLS_DOMAIN", "acme-directory": "SOTTO_ACME_DIRECTORY"} {
		if text := sh.Getenv(variable); text != "" {
			texts := []string{text}
			if key == "tls-domains" {
				texts = strings.Split(text, ",")
			}
			from.Overrides = append(from.Overrides, settings.Override{Key: key, Name: variable, Texts: texts})
		}
	}
	s, err := settings.Read(from, names)
	if err != nil {
		return nil, "", "", err
	}
	host, port, err := net.SplitHostPort(s.Listen)
	if err != nil || port == "0" {
		return nil, "", "", errorhint.Usage(fmt.Errorf("the port of the gateway is not in its settings: listen is %s", s.Listen), "name the gateway by its URL")
	}
	switch ip := net.ParseIP(host); { // an address, because access control lets each address pass
	case host == "", ip.Equal(net.IPv4zero):
		host = "127.0.0.1"
	case ip.Equal(net.IPv6zero):
		host = "::1"
	}
	at = &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}
	if s.Encrypted() {
		at.Scheme = "https"
	}
	if len(s.ACME.Domains) == 0 {
		return at, s.TLS.Cert, "", nil
	}
	domain = s.ACME.Domains[0]
	return at, s.ACME.File(s.Gateway.Data, domain), domain, nil
}
