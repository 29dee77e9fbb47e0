// Package probereport has the report of a probe of a server, whichever protocol the
// server speaks: one vocabulary of checks, one form as JSON.
package probereport

import (
	"errors"
	"fmt"
	"net"
	"net/url"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// A Status is how a check ended.
type Status string

const (
	OK      Status = "ok"
	Finding Status = "finding"
	Skipped Status = "skipped" // it could not be made, or does not apply
	Unknown Status = "unknown" // it was made, and does not tell
	Mended  Status = "mended"  // something is wrong with the server, and Sotto in front of it mends it
)

// A Check is one thing that was looked at.
type Check struct {
	// Interface is the binding and version, such as "JSONRPC 1.0"; empty for checks
	// of the server as a whole.
	Interface string `json:"interface,omitempty"`
	Name      string `json:"check"`
	Status    Status `json:"status"`
	// Detail says what was seen, and for a failure what was expected. It quotes the
	// server: escape it where it is shown.
	Detail string `json:"detail,omitempty"`
	// Do says what to do about it.
	Do string `json:"do,omitempty"`
}

// A Report is what a probe found.
type Report struct {
	V        int    `json:"v"` // 1
	URL      string `json:"url"`
	Agent    string `json:"agent,omitempty"`
	Model    string `json:"model,omitempty"`
	Findings int    `json:"findings"`
	// Answers are the answers that were read for leaks. Without one, nothing is
	// known about leaks.
	Answers int     `json:"answers"`
	Checks  []Check `json:"checks"`
}

// Add adds a check.
func (r *Report) Add(of, name string, s Status, detail string) {
	if s == Finding {
		r.Findings++
	}
	r.Checks = append(r.Checks, Check{Interface: of, Name: name, Status: s, Detail: shorttext.Ellipsis(detail, 500)})
}

// Expect adds a check that holds or not.
func (r *Report) Expect(of, name string, holds bool, format string, args ...any) {
	if holds {
		r.Add(of, name, OK, "")
		return
	}
	r.Add(of, name, Finding, fmt.Sprintf(format, args...))
}

// ErrURL is the error of a URL that cannot be a server's.
var ErrURL = errors.New("not a URL such as https://agent.example")

// ErrUnreachable is in the error of a probe that found no server: nothing listens
// at the address, or its name is not known.
var ErrUnreachable = errors.New("the server cannot be reached")

// ParseURL reads the URL of a server. A user name in it is dropped.
func ParseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%.200q: %w", text, ErrURL)
	}
	u.User = nil
	return u, nil
}

// Unreached reports whether an error says that no connection was made.
func Unreached(err error) bool {
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return true
	}
	_, ok := errors.AsType[*net.DNSError](err)
	return ok
}

// Plain returns the text of an error without the URL that net/http quotes.
func Plain(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}
