package objects

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/base/files"
	"github.com/sotto-llm/sotto/internal/base/retry"
)

// Options are those of a [Bucket]. Their zero value is right.
type Options struct {
	// Getenv looks up the environment. If nil, os.Getenv.
	Getenv func(string) string
	// Retry bounds the attempts at each request. If zero, five within ten seconds.
	Retry retry.Policy
	// Stall is how long a request waits for a byte, or for an answer. If zero, a
	// minute.
	Stall time.Duration
}

const amazon = "https://s3.amazonaws.com"

// Open returns a bucket. It sends nothing to the store.
//
// The endpoint is that of AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL, or else Amazon's.
// The region is that of AWS_REGION or AWS_DEFAULT_REGION, or else us-east-1.
// Credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN, from the profile AWS_PROFILE of the shared files of AWS, or from
// the role of the container, the pod or the machine. AWS_CA_BUNDLE names a file with
// the certificates of further authorities.
//
// The addresses are https://BUCKET.ENDPOINT at Amazon, Google and Alibaba, and
// ENDPOINT/BUCKET elsewhere.
func Open(ctx context.Context, bucket string, o Options) (*Bucket, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Retry == (retry.Policy{}) {
		o.Retry = defaultRetry
	}
	o.Stall = cmp.Or(o.Stall, time.Minute)
	endpoint := cmp.Or(o.Getenv("AWS_ENDPOINT_URL_S3"), o.Getenv("AWS_ENDPOINT_URL"), amazon)
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.User != nil {
		return nil, errorhint.Usage(errors.New("AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL is not the address of a server"),
			"write https://HOST or http://HOST:PORT, without a path")
	}
	transport, err := transportOf(u.Scheme == "https", &o)
	if err != nil {
		return nil, err
	}
	creds, err := credentialsOf(ctx, &o)
	if err != nil {
		return nil, err
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds:      creds,
		Secure:     u.Scheme == "https",
		Transport:  transport,
		Region:     cmp.Or(o.Getenv("AWS_REGION"), o.Getenv("AWS_DEFAULT_REGION"), "us-east-1"),
		MaxRetries: 1, // [Bucket.do] sends requests again
	})
	if err != nil {
		return nil, fmt.Errorf("the endpoint %s: %w", u.Host, err)
	}
	return &Bucket{name: bucket, core: minio.Core{Client: client}, transport: transport.next, o: o}, nil
}

// credentialsOf finds credentials, so that a run without any ends here and not at its
// first request.
func credentialsOf(ctx context.Context, o *Options) (*credentials.Credentials, error) {
	providers := []credentials.Provider{
		&environment{getenv: o.Getenv},
		&credentials.FileAWSCredentials{Profile: o.Getenv("AWS_PROFILE")},
	}
	if !strings.EqualFold(o.Getenv("AWS_EC2_METADATA_DISABLED"), "true") {
		providers = append(providers, &credentials.IAM{})
	}
	creds := credentials.NewChainCredentials(providers)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second) // a machine that has no metadata service may not answer
	defer cancel()
	client := &http.Client{Timeout: 5 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	v, err := creds.GetWithContext(&credentials.CredContext{Client: client, Context: ctx})
	if err != nil || v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return nil, errorhint.Usage(errors.New("there are no credentials for the object store"), // the error could quote a file
			"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
	}
	return creds, nil
}

// environment has the credentials of the environment that the options look up.
type environment struct{ getenv func(string) string }

func (e *environment) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	v := credentials.Value{
		AccessKeyID: e.getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: e.getenv("AWS_SECRET_ACCESS_KEY"),
		SessionToken: e.getenv("AWS_SESSION_TOKEN"), SignerType: credentials.SignatureV4,
	}
	if v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return credentials.Value{}, errors.New("not in the environment")
	}
	return v, nil
}

func (e *environment) Retrieve() (credentials.Value, error) { return e.RetrieveWithCredContext(nil) }
func (e *environment) IsExpired() bool                      { return false }

// What a server may send, except for the body of an object.
const (
	maxAnswer = 16 << 20
	maxHeader = 256 << 10
)

func transportOf(secure bool, o *Options) (*bounded, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil {
		return nil, err
	}
	t.MaxResponseHeaderBytes = maxHeader
	t.ResponseHeaderTimeout = o.Stall
	if bundle := o.Getenv("AWS_CA_BUNDLE"); secure && bundle != "" {
		pem, err := files.Read("AWS_CA_BUNDLE", bundle, files.MaxSettings)
		if err != nil {
			return nil, err
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("AWS_CA_BUNDLE: %s has no certificate in PEM", bundle)
		}
		t.TLSClientConfig.RootCAs = pool
	}
	return &bounded{t}, nil
}

// bounded bounds the bodies of answers, but those that are an object.
type bounded struct{ next *http.Transport }

// wantsBody marks the context of a request whose answer is an object.
type wantsBody struct{}

func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	ok := res.StatusCode == http.StatusOK || res.StatusCode == http.StatusPartialContent
	if r.Context().Value(wantsBody{}) == nil || !ok {
		res.Body = &limited{res.Body, maxAnswer}
	}
	return res, nil
}

var errTooLong = fmt.Errorf("the server's answer is longer than %d bytes", maxAnswer)

type limited struct {
	io.ReadCloser
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errTooLong
	}
	n, err := l.ReadCloser.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}
