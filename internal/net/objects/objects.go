// Package objects reads and writes objects in a store that speaks the S3 protocol.
//
//	b, err := objects.Open(ctx, "bucket", objects.Options{})
//	o, err := b.PutNew(ctx, "dir/name", bytes.NewReader(data), int64(len(data)), objects.Put{})
//
// A [Bucket] is found and opened by the environment that other programs for S3 use:
// see [Open]. Names are whole names in the bucket, without a slash in front.
//
// Each request is sent again after a failure that may pass, a bounded number of
// times, and has a time limit. What a server sends is bounded: answers, error texts,
// listings and their order. Only the body of an object may be large; it comes as a
// stream of the length that was announced.
package objects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/minio/minio-go/v7"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/retry"
)

var (
	// ErrExists is in the error of [Bucket.PutNew] if the bucket has an object of
	// that name. It may be the caller's own: the answer to an attempt can be lost.
	// Names that depend on the content settle this.
	ErrExists = errors.New("the bucket already has an object of this name")
	// ErrChanged is in the error of a request with a condition that no longer holds:
	// the object was replaced or removed.
	ErrChanged = errors.New("the object was replaced meanwhile")
	// ErrNoBucket is in the error of a request for a bucket that does not exist.
	ErrNoBucket = errors.New("the bucket does not exist")
	// ErrDenied is in the error of a request that the credentials do not allow.
	ErrDenied = errors.New("the credentials do not allow this")
	// errNotImplemented is in the error of a request that the server does not know.
	errNotImplemented = errors.New("the server does not have this operation")
)

// An Object is what a store says about an object.
type Object struct {
	Name     string
	Size     int64
	ETag     string // names the content; it has no quotes
	Modified time.Time
	// Meta has the metadata that its writer gave, with keys in lower case. A listing
	// has none.
	Meta map[string]string
}

// A Bucket is a bucket of a store. It is safe for concurrent use.
type Bucket struct {
	name      string
	core      minio.Core
	transport *http.Transport
	o         Options
}

// Close closes connections that wait for a further request.
func (b *Bucket) Close() { b.transport.CloseIdleConnections() }

// Name returns the name of the bucket.
func (b *Bucket) Name() string { return b.name }

// URL returns the address of an object.
func (b *Bucket) URL(name string) string { return Location{b.name, name}.String() }

// defaultRetry bounds the attempts at a request: five, within about ten seconds.
var defaultRetry = retry.Policy{Attempts: 5, First: 200 * time.Millisecond, Longest: 4 * time.Second, Patience: time.Minute}

// do sends a request until it succeeds or is not worth another attempt. Each attempt
// ends after the given time.
func (b *Bucket) do(ctx context.Context, op, name string, limit time.Duration, try func(context.Context) error) error {
	err := b.o.Retry.Do(ctx, func() (retry.Verdict, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		err := try(ctx)
		return retry.Verdict{Again: temporary(err)}, err
	}, nil)
	return b.failure(op, name, err)
}

// temporary reports whether another attempt may succeed. 409 is the answer to a
// conditional request while another one for the same name is under way.
func temporary(err error) bool {
	res := minio.ToErrorResponse(err)
	switch res.Code {
	case "SlowDown", "RequestTimeout", "InternalError", "ConditionalRequestConflict", "OperationAborted":
		return true
	}
	if res.StatusCode == 0 { // there was no answer
		return err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, errTooLong) && !permanentText(err)
	}
	return retry.Status(res.StatusCode)
}

// permanentText finds errors of the connection that time does not mend. The client
// gives some of them as text only.
func permanentText(err error) bool {
	text := err.Error()
	return strings.Contains(text, "x509: ") || strings.Contains(text, "server gave HTTP response to HTTPS client")
}

// failure makes an error of a request that failed: what was wanted of which object,
// why, and what to do.
func (b *Bucket) failure(op, name string, err error) error {
	if err == nil {
		return nil
	}
	res := minio.ToErrorResponse(err)
	advice, what := kindOf(res)
	if lost := (*url.Error)(nil); what == nil && errors.As(err, &lost) { // without the address, which is long
		what, advice = lost.Err, "check AWS_ENDPOINT_URL_S3, and that the server runs"
	}
	if what == nil {
		what = err
		if res.StatusCode > 0 { // its text is the server's
			what = fmt.Errorf("the server answered %d %.60q: %.300q", res.StatusCode, res.Code, res.Message)
		}
	}
	err = fmt.Errorf("%s %s: %w", op, b.URL(name), what)
	if advice != "" {
		return errorhint.Add(err, advice)
	}
	return err
}

// kindOf names the errors that callers and users tell apart.
func kindOf(res minio.ErrorResponse) (advice string, kind error) {
	switch {
	case res.Code == "NoSuchBucket":
		return "create the bucket, or correct its name or AWS_ENDPOINT_URL_S3", ErrNoBucket
	case res.StatusCode == http.StatusNotFound:
		return "", fs.ErrNotExist
	case res.StatusCode == http.StatusPreconditionFailed:
		return "", ErrChanged
	case res.StatusCode == http.StatusForbidden, res.StatusCode == http.StatusUnauthorized:
		return "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, and what the policy of the bucket allows", fmt.Errorf("%w (%.60q)", ErrDenied, res.Code)
	case res.StatusCode >= 300 && res.StatusCode < 400, res.Code == "AuthorizationHeaderMalformed", res.Code == "InvalidRegion":
		return "set AWS_REGION to the region of the bucket", fmt.Errorf("the bucket is in another region or at another endpoint (%.60q)", res.Code)
	case res.StatusCode == http.StatusNotImplemented:
		return "", errNotImplemented
	}
	return "", nil
}

// maxName is the bound of S3 on a name, in bytes.
const maxName = 1024

// CheckName reports what is wrong with a name for an object that Sotto writes: every
// segment must be usable as the name of a file.
func CheckName(name string) error {
	if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("%.100q is not a name for an object", name)
	}
	for segment := range strings.SplitSeq(name, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("%.100q is not a name for an object: a segment is empty, or a dot or two", name)
		}
	}
	return nil
}
