package faults

import (
	"crypto/tls"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/sotto-llm/sotto/internal/net/serving"
)

// A client learns why its request failed, and nothing of the network behind the gateway:
// errors of connections name addresses, and those of certificates name hosts. The log and
// the record have the whole error.

// Text returns the text of an error for the client.
func Text(err error) string {
	text := err.Error()
	instead, fault := connectionFault(err)
	if fault == nil {
		return text
	}
	for _, said := range []string{fault.Error(), serving.Unquoted(fault.Error())} {
		if before, after, found := strings.Cut(text, said); found {
			return before + instead + after
		}
	}
	return instead
}

// ForClient returns an error whose text is fit for the client.
func ForClient(err error) error {
	if err == nil {
		return nil
	}
	return &quietError{Text(err), err}
}

// connectionFault returns the part of an error that may name a host, and what a client
// learns about it. It is nil if there is no such part.
func connectionFault(err error) (instead string, fault error) {
	if e, ok := errors.AsType[*net.OpError](err); ok {
		if why, _ := connectionFault(e.Err); why != "" {
			return e.Op + ": " + why, e
		}
		return e.Op + ": " + reasonOf(e.Err), e
	}
	if e, ok := errors.AsType[*net.DNSError](err); ok {
		return "its name could not be resolved", e
	}
	if e, ok := errors.AsType[*net.AddrError](err); ok {
		return "its address is not valid", e
	}
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "its certificate could not be verified", e
	}
	return "", nil
}

// reasonOf returns what the system says of a failed connection.
func reasonOf(err error) string {
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number.Error()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "timed out"
	}
	if e, ok := errors.AsType[tls.AlertError](err); ok {
		return e.Error()
	}
	return "the connection failed"
}
