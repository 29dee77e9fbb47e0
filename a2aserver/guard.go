package a2aserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// A guard keeps pushes away from addresses that a client must not reach through
// this server. It checks the URL when it is given. It checks the address each time
// it is dialed, since a name may then resolve to another address.
type guard struct {
	allow []netip.Prefix
}

var errPrivate = errors.New("the address is not public")

// outward contains all public IPv6 addresses. Some of the others contain an IPv4
// address, to which a network may translate them.
var outward = netip.MustParsePrefix("2000::/3")

// inward are address ranges, in addition to those that netip knows, from which
// nothing public answers, or which contain another address.
var inward = func() []netip.Prefix {
	var list []netip.Prefix
	for _, p := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	} {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}()

// public reports whether an address is one of the open network.
func public(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && (ip.Is4() || outward.Contains(ip)) &&
		!slices.ContainsFunc(inward, func(p netip.Prefix) bool { return p.Contains(ip) })
}

func (g guard) allowed(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(g.allow, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// url checks where a client wants its pushes sent.
func (g guard) url(ctx context.Context, raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Hostname() == "":
		return errors.New("the push URL is not a URL such as https://client.example/hook")
	case u.Scheme != "https" && u.Scheme != "http":
		return fmt.Errorf("the push URL begins with %.16q: only https is allowed", u.Scheme)
	case u.User != nil:
		return errors.New("the push URL holds a user name: put credentials into its authentication")
	case len(raw) > 2048:
		return errors.New("the push URL is longer than 2048 bytes")
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return unreachable{u.Hostname(), err}
	}
	if len(ips) == 0 {
		return unreachable{u.Hostname(), errors.New("the name has no address")}
	}
	for _, ip := range ips {
		if err := g.address(u.Scheme, ip); err != nil {
			return unreachable{u.Hostname(), fmt.Errorf("%s: %w", ip, err)}
		}
	}
	return nil
}

// An unreachable is the error of a host to which no push goes. Its text is the same
// for every reason. A client that could tell reasons apart could find out which
// names this network has. The reason is for the log.
type unreachable struct {
	host   string
	reason error
}

func (u unreachable) Error() string {
	return fmt.Sprintf("pushes to %q are not allowed: the host must have public addresses, and the URL must begin with https", u.host)
}

// address checks one address. Plain HTTP would show the credentials on the way, so
// it is used only where the operator allows it.
func (g guard) address(scheme string, ip netip.Addr) error {
	switch {
	case g.allowed(ip):
		return nil
	case !public(ip):
		return errPrivate
	case scheme != "https":
		return errors.New("the connection is not encrypted: use https")
	}
	return nil
}

// client returns a client that follows no redirect, uses no proxy, and looks at
// every address that it dials.
func (g guard) client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     byScheme{"http": g.transport("http"), "https": g.transport("https")},
	}
}

func (g guard) transport(scheme string) *http.Transport {
	dialer := &net.Dialer{
		Timeout: 10 * time.Second,
		Control: func(_, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			return g.address(scheme, ap.Addr())
		},
	}
	return &http.Transport{
		DialContext: dialer.DialContext, DisableKeepAlives: true, DisableCompression: true,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10,
	}
}

// byScheme has a transport for each scheme, since the addresses that may be dialed
// differ.
type byScheme map[string]*http.Transport

func (t byScheme) RoundTrip(r *http.Request) (*http.Response, error) {
	if tr, ok := t[r.URL.Scheme]; ok {
		return tr.RoundTrip(r)
	}
	return nil, fmt.Errorf("scheme %.16q", r.URL.Scheme)
}

// refusedAddress says that the guard did not let the connection be made.
func refusedAddress(err error) bool { return errors.Is(err, errPrivate) }

// scrub removes the URL from a client's error, because it may hold a secret.
func scrub(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}
