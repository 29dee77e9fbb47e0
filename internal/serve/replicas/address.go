package replicas

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// An endpoint is what the address of a store says.
type endpoint struct {
	hosts    []string // with their ports: servers, or sentinels
	kind     string   // "", "sentinel" or "cluster"
	master   string   // the name by which sentinels know it
	database int
	user     string
	tls      bool
}

// forms are the addresses that are understood.
const forms = "redis://HOST:PORT/DATABASE, redis+sentinel://HOST:PORT,HOST:PORT/MASTER/DATABASE or redis+cluster://HOST:PORT,HOST:PORT; rediss for TLS"

// maxHosts bounds the hosts of an address.
const maxHosts = 64

// CheckURL returns what is wrong with the address of a server. No error contains a
// password.
func CheckURL(address string) error {
	_, err := parse(address)
	return err
}

// Unencrypted returns the hosts of an address that are reached without TLS.
func Unencrypted(address string) []string {
	e, err := parse(address)
	if err != nil || e.tls {
		return nil
	}
	return e.hosts
}

// parse reads the address of a store.
func parse(address string) (e endpoint, err error) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return e, errors.New("not a URL: want " + forms)
	}
	base, kind, plus := strings.Cut(scheme, "+")
	if base != "redis" && base != "rediss" || plus && kind != "sentinel" && kind != "cluster" {
		return e, fmt.Errorf("scheme %q: want %s", scheme, forms)
	}
	e.kind, e.tls = kind, base == "rediss"
	authority, path, _ := strings.Cut(rest, "/")
	if strings.ContainsAny(path, "?#") || strings.ContainsAny(authority, "?#") {
		return e, errors.New("nothing may follow the database")
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, secret, has := strings.Cut(authority[:at], ":")
		if has || secret != "" {
			return e, errors.New("the URL holds a password: give it with shared-password-file or SOTTO_SHARED_PASSWORD")
		}
		if e.user, err = url.PathUnescape(user); err != nil {
			return e, errors.New("not a URL: the user is not escaped as in a URL")
		}
		authority = authority[at+1:]
	}
	hosts := strings.Split(authority, ",")
	if kind == "" && len(hosts) > 1 {
		return e, errors.New("several hosts: want redis+sentinel:// or redis+cluster://")
	}
	if len(hosts) > maxHosts {
		return e, fmt.Errorf("%d hosts: want at most %d", len(hosts), maxHosts)
	}
	for _, host := range hosts {
		one, err := hostOf(host, map[bool]string{false: "6379", true: "26379"}[kind == "sentinel"])
		if err != nil {
			return e, err
		}
		e.hosts = append(e.hosts, one)
	}
	return e, e.path(path)
}

// hostOf returns a host with its port.
func hostOf(text, port string) (string, error) {
	u, err := url.Parse("redis://" + text)
	if err != nil || u.User != nil {
		return "", errors.New("not a URL: a host or port makes no sense")
	}
	if u.Hostname() == "" {
		return "", errors.New("no host: want " + forms)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// path reads what follows the hosts.
func (e *endpoint) path(text string) (err error) {
	if e.kind == "sentinel" {
		e.master, text, _ = strings.Cut(text, "/")
		if e.master, err = url.PathUnescape(e.master); err != nil || e.master == "" {
			return errors.New("no name of a master: want redis+sentinel://HOST:PORT,HOST:PORT/MASTER")
		}
	}
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return errors.New("the database is not a number: want " + forms)
	}
	if e.kind == "cluster" && n > 0 {
		return errors.New("a cluster has database 0 only")
	}
	e.database = int(n)
	return nil
}
