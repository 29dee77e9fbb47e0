package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/mail"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/crypto/acme/autocert"
	"golang.org/x/net/idna"

	"github.com/sotto-llm/sotto/internal/base/files"
)

// ACME says which certificates an authority is asked for, by the protocol ACME
// (RFC 8555).
type ACME struct {
	Domains   []string
	Accepted  bool   // the authority's terms of service
	Email     string // of who runs the server; "" if the authority need not know it
	Directory string // the URL of the authority; [LetsEncrypt] if it is not set
	CA        string // the file (PEM) with the authorities of that URL; "" for those of the system
	Listen    string // the address, usually :80, of the answers to http-01; "" if there are none
}

// LetsEncrypt is the authority that is asked by default.
const LetsEncrypt = autocert.DefaultACMEDirectory

// AuthorityFolder is the folder, below that for data, of the keys and certificates.
const AuthorityFolder = "acme"

// Folder returns the folder for the keys and certificates of the authority, below the
// folder for data. Each authority has its own, because an account and a certificate of
// one, such as a staging environment, are not those of another.
func (a ACME) Folder(data string) string {
	name := []byte(strings.ToLower(strings.TrimPrefix(a.Directory, "https://")))
	for i, c := range name {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '.' && i > 0) {
			name[i] = '-'
		}
	}
	return filepath.Join(data, AuthorityFolder, string(name[:min(len(name), 100)]))
}

// File returns the file with the key and the certificate of a domain.
func (a ACME) File(data, domain string) string {
	return filepath.Join(a.Folder(data), asciiName(domain))
}

// CheckDomain returns what is wrong with the name of a domain.
func CheckDomain(name string) error {
	ascii, err := idna.Lookup.ToASCII(name)
	_, notAddress := netip.ParseAddr(name)
	switch {
	case strings.Contains(name, "*"):
		return fmt.Errorf("%q: an authority gives wildcards only by way of DNS: name each domain, or bring the certificate with tls-cert", name)
	case notAddress == nil:
		return fmt.Errorf("%q is an address: want the name of a domain", name)
	case err != nil, !strings.Contains(strings.Trim(ascii, "."), "."), strings.HasSuffix(name, "."):
		return fmt.Errorf("%q: want the name of a domain such as gateway.example.com", name)
	}
	return nil
}

// CheckDirectory returns what is wrong with the URL of an authority.
func CheckDirectory(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q: want a URL such as %s", text, LetsEncrypt)
	}
	return nil
}

// CheckEmail returns what is wrong with the address of who runs the server.
func CheckEmail(text string) error {
	if a, err := mail.ParseAddress(text); err != nil || a.Address != text {
		return fmt.Errorf("%q: want an e-mail address", text)
	}
	return nil
}

// Check returns which of the settings is wrong because of the others, and why. f are the
// files that are set too.
func (a ACME) Check(f Files, data string) (key string, err error) {
	on := len(a.Domains) > 0
	switch {
	case on && (f.Cert != "" || f.Key != ""):
		return "tls-domains", errors.New("tls-cert and tls-key are set too: keep either")
	case on && data == "":
		return "tls-domains", errors.New("the certificates are kept in the data folder, and there is none: name one with data")
	case on && !a.Accepted:
		return "tls-domains", fmt.Errorf("needs acme-accept-terms: read the terms of service of %s, and accept them", a.Directory)
	case !on && a.Email != "":
		return "acme-email", errNoDomain
	case !on && a.CA != "":
		return "acme-ca", errNoDomain
	case !on && a.Listen != "":
		return "acme-listen", errNoDomain
	}
	if a.CA != "" {
		_, err = Trust(a.CA)
	}
	return "acme-ca", err
}

var errNoDomain = errors.New("needs tls-domains")

// Kept reads the certificate that is kept for a domain. It fails if there is none that
// can be used.
func (a ACME) Kept(data, domain string, now time.Time) (*x509.Certificate, error) {
	text, err := files.ReadRegular(a.File(data, domain), maxFile)
	if err != nil {
		return nil, files.Cause(err)
	}
	pair, err := KeptPair(text)
	switch {
	case err != nil:
		return nil, err
	case now.After(pair.Leaf.NotAfter):
		return nil, errors.New("it has expired")
	case now.Before(pair.Leaf.NotBefore):
		return nil, errors.New("it is not valid yet")
	}
	return pair.Leaf, pair.Leaf.VerifyHostname(domain)
}

// KeptPair reads a key and the certificate for it from one text, as they are kept.
func KeptPair(text []byte) (tls.Certificate, error) { return tls.X509KeyPair(text, text) }

// KeptKey checks the text of a key that is kept without a certificate: that of the
// account.
func KeptKey(text []byte) error {
	block, _ := pem.Decode(text)
	if block == nil {
		return errors.New("it has no key in the PEM format")
	}
	_, err := x509.ParseECPrivateKey(block.Bytes)
	return err
}

// asciiName returns the name of a domain as it is in certificates.
func asciiName(name string) string {
	ascii, err := idna.Lookup.ToASCII(strings.TrimSuffix(name, "."))
	if err != nil {
		return ""
	}
	return ascii
}
