package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/check/checks"
	"github.com/sotto-llm/sotto/internal/net/foreignhttp"
)

// inWords says why there was no response, and what to do. missing says that there is no
// server at all.
func inWords(err error, u *url.URL, limit time.Duration) (f found, missing bool) {
	f.status = checks.Finding
	f.name, f.detail, f.do = words(err, u, limit)
	return f, f.name == checks.Unreachable
}

func words(err error, u *url.URL, limit time.Duration) (name checks.Name, detail, do string) {
	text := checks.Plain(err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case isDNS && dns.IsNotFound:
		return checks.Unreachable, fmt.Sprintf("the name %q is not known", u.Hostname()), "check the spelling of the host in the URL"
	case strings.Contains(text, "connection refused"):
		return checks.Unreachable, "nothing listens at " + u.Host, "start the model server, or correct the port in the URL"
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return checks.ServerTLS, "the server speaks HTTP, not HTTPS", "write http:// instead of https:// in the URL"
	case isCertificate(err):
		return checks.ServerTLS, "the server's certificate is refused: " + text, "correct the host name in the URL, or add the server's authority to the trusted ones of this system (SSL_CERT_FILE names a file of them)"
	case errors.Is(err, foreignhttp.ErrElsewhere):
		return checks.Redirected, text, ""
	case errors.Is(err, context.DeadlineExceeded):
		return checks.ServerSilent, fmt.Sprintf("no answer within %s", limit), "check that the server is not busy or stuck; --time allows more"
	case checks.Unreached(err):
		return checks.Unreachable, text, "check the host and the port in the URL, and the network"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return checks.ReplyBrokenOff, "the reply broke off before its end", cutHelp
	case strings.Contains(text, "EOF") || strings.Contains(text, "connection reset"):
		return checks.Closed, "the server closed the connection without an answer: " + text, "read the server's log"
	case strings.Contains(text, "malformed HTTP") || strings.Contains(text, "readLoopPeekFailLocked"): // it spoke first
		return checks.NotHTTP, "what answers does not speak HTTP", "correct the port in the URL"
	}
	return checks.RequestFailed, text, ""
}

// cutHelp says what to do about replies that break off.
const cutHelp = "look for a limit on time or size in the proxies between, such as nginx's proxy_read_timeout, and in the server's log"

// isCertificate reports whether an error is about the certificate of a server.
func isCertificate(err error) bool {
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verification) || errors.As(err, &authority) || errors.As(err, &host)
}
