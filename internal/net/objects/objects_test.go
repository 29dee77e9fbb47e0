package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/signer"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/net/objects"
	"github.com/sotto-llm/sotto/internal/net/objects/objectstest"
)

const bucket = "sotto"

var quick = retry.Policy{Attempts: 4, First: time.Millisecond, Longest: 5 * time.Millisecond}

func open(t *testing.T, getenv func(string) string) *objects.Bucket {
	t.Helper()
	b, err := objects.Open(t.Context(), bucket, objects.Options{Getenv: getenv, Retry: quick})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// at is the environment of a server, with another address.
func at(s *objectstest.Server, address string) func(string) string {
	return func(name string) string {
		if name == "AWS_ENDPOINT_URL_S3" {
			return address
		}
		return s.Getenv(name)
	}
}

func put(t *testing.T, b *objects.Bucket, name, text string) objects.Object {
	t.Helper()
	o, err := b.PutNew(t.Context(), name, strings.NewReader(text), int64(len(text)), objects.Put{Meta: map[string]string{"sha256": "abc"}})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func get(t *testing.T, b *objects.Bucket, name string, part objects.Range, etag string) (string, objects.Object, error) {
	t.Helper()
	r, o, err := b.Get(t.Context(), name, part, etag)
	if err != nil {
		return "", o, err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), o, err
}

// What is put comes back whole and in parts, listed in order, once.
func TestObjects(t *testing.T) {
	s := objectstest.Start(t, bucket)
	b := open(t, s.Getenv)
	o := put(t, b, "a/one", "0123456789")
	if _, err := b.PutNew(t.Context(), "a/one", strings.NewReader("x"), 1, objects.Put{}); !errors.Is(err, objects.ErrExists) {
		t.Errorf("a second put of a new object: %v", err)
	}
	if text, got, err := get(t, b, "a/one", objects.Range{}, ""); text != "0123456789" || err != nil || got.ETag != o.ETag || got.Size != 10 || got.Meta["sha256"] != "abc" {
		t.Errorf("got %q, %+v, %v", text, got, err)
	}
	for _, c := range []struct {
		part objects.Range
		want string
	}{{objects.Range{From: 3}, "3456789"}, {objects.Range{From: 3, Length: 2}, "34"}, {objects.Range{Length: 1}, "0"}, {objects.Range{From: 8, Length: 9}, "89"}} {
		if text, got, err := get(t, b, "a/one", c.part, o.ETag); text != c.want || err != nil || got.Size != 10 {
			t.Errorf("%+v: got %q, %+v, %v", c.part, text, got, err)
		}
	}
	replaced, err := b.Put(t.Context(), "a/one", strings.NewReader("new"), 3, o.ETag, objects.Put{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Put(t.Context(), "a/one", strings.NewReader("old"), 3, o.ETag, objects.Put{}); !errors.Is(err, objects.ErrChanged) {
		t.Errorf("a put for an object that was replaced: %v", err)
	}
	if _, _, err := get(t, b, "a/one", objects.Range{}, o.ETag); !errors.Is(err, objects.ErrChanged) {
		t.Errorf("a read of an object that was replaced: %v", err)
	}
	if got, err := b.Stat(t.Context(), "a/one"); err != nil || got.ETag != replaced.ETag || got.Size != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if err := b.Delete(t.Context(), "a/one"); err != nil {
		t.Error(err)
	}
	if _, err := b.Stat(t.Context(), "a/one"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an object that was removed: %v", err)
	}
	if _, _, err := get(t, b, "a/one", objects.Range{}, ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an object that was removed: %v", err)
	}
}

func TestList(t *testing.T) {
	s := objectstest.Start(t, bucket)
	b := open(t, s.Getenv)
	for _, name := range []string{"p/b c+d", "p/a", "p/z/ü", "other"} {
		put(t, b, name, "x")
	}
	list := func(after string, most int) (names []string, err error) {
		for o, err := range b.List(t.Context(), "p/", after, most) {
			if err != nil {
				return names, err
			}
			names = append(names, o.Name)
		}
		return names, nil
	}
	if names, err := list("", 0); fmt.Sprint(names) != "[p/a p/b c+d p/z/ü]" || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	if names, err := list("p/a", 2); fmt.Sprint(names) != "[p/b c+d p/z/ü]" || err != nil {
		t.Errorf("%q, %v", names, err)
	}
	if names, err := list("", 2); len(names) != 2 || !errors.Is(err, objects.ErrTooMany) {
		t.Errorf("%q, %v", names, err)
	}
	// More than a page of the server, which need not be put one by one.
	file, err := os.ReadFile(s.Path(bucket, "other"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2100 {
		path := s.Path(bucket, fmt.Sprintf("p/many/%04d", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if names, err := list("", 0); len(names) != 2103 || err != nil {
		t.Errorf("%d names, %v", len(names), err)
	}
}

// A large object goes in parts, with the condition at its end, and nothing remains of
// one that was refused.
func TestLarge(t *testing.T) {
	if effort.Brief() {
		t.Skip("an object of 65 MiB: SOTTO_EFFORT=1 runs it")
	}
	s := objectstest.Start(t, bucket)
	b := open(t, s.Getenv)
	data := bytes.Repeat([]byte("0123456789abcdef"), (65<<20)/16)
	var sent []int64
	o, err := b.PutNew(t.Context(), "large", bytes.NewReader(data), int64(len(data)), objects.Put{Sent: func(n int64) { sent = append(sent, n) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(sent) != 5 || sent[4] != int64(len(data)) {
		t.Errorf("sent %d", sent)
	}
	if text, _, err := get(t, b, "large", objects.Range{From: 64<<20 + 3, Length: 5}, o.ETag); text != "34567" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if got, err := b.Stat(t.Context(), "large"); err != nil || got.Size != int64(len(data)) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := b.PutNew(t.Context(), "large", bytes.NewReader(data), int64(len(data)), objects.Put{}); !errors.Is(err, objects.ErrExists) {
		t.Errorf("a second put: %v", err)
	}
	var parts []string
	_ = filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if info, err := os.Stat(path); err == nil && !d.IsDir() && info.Size() >= 1<<20 {
			parts = append(parts, path)
		}
		return nil
	})
	if len(parts) != 1 {
		t.Errorf("the server has %q", parts)
	}
}

// proxy is a server in front of another, whose requests an edit changes. They are
// signed again, since the signature covers the headers.
func proxy(t *testing.T, s *objectstest.Server, edit func(*http.Request)) string {
	t.Helper()
	target, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	p := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = target.Host
		r.Out.Header.Del("Authorization")
		edit(r.Out)
		r.Out = signer.SignV4(*r.Out, objectstest.Access, objectstest.Secret, "", objectstest.Region)
	}})
	t.Cleanup(p.Close)
	return p.URL
}

func TestProbe(t *testing.T) {
	s := objectstest.Start(t, bucket)
	b := open(t, s.Getenv)
	for range 2 { // the object of the first is there for the second
		if err := b.Probe(t.Context(), "p/"); err != nil {
			t.Fatal(err)
		}
	}
	ignores := open(t, at(s, proxy(t, s, func(r *http.Request) { r.Header.Del("If-None-Match") })))
	if err := ignores.Probe(t.Context(), "p/"); !errors.Is(err, objects.ErrUnconditional) {
		t.Errorf("a server that ignores If-None-Match: %v", err)
	}
	forParts := open(t, at(s, proxy(t, s, func(r *http.Request) {
		if r.Method == http.MethodPost {
			r.Header.Del("If-None-Match")
		}
	})))
	if err := forParts.Probe(t.Context(), "p/"); !errors.Is(err, objects.ErrUnconditional) {
		t.Errorf("a server that ignores If-None-Match of an upload in parts: %v", err)
	}
}

// A request that fails is sent again, and a stream that breaks goes on where it was.
func TestAgain(t *testing.T) {
	s := objectstest.Start(t, bucket)
	put(t, open(t, s.Getenv), "name", strings.Repeat("0123456789", 1000))
	var requests atomic.Int64
	target, _ := url.Parse(s.URL)
	front := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ModifyResponse: func(res *http.Response) error {
			if res.Request.Method == http.MethodGet && requests.Load()%2 == 1 { // it breaks in the middle
				res.Body = struct {
					io.Reader
					io.Closer
				}{io.LimitReader(res.Body, 700), res.Body}
			}
			return nil
		},
	}
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { _ = recover() }() // of the proxy, when the body breaks
		if requests.Add(1)%2 == 0 && r.Method == http.MethodPut {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		front.ServeHTTP(w, r)
	}))
	p.Config.ErrorLog = nil
	t.Cleanup(p.Close)
	b := open(t, at(s, p.URL))
	if text, _, err := get(t, b, "name", objects.Range{From: 5}, ""); text != strings.Repeat("0123456789", 1000)[5:] || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if requests.Load() < 2 {
		t.Errorf("%d requests", requests.Load())
	}
	requests.Store(1)
	put(t, b, "after a failure", "x")
	if requests.Load() != 3 {
		t.Errorf("%d requests", requests.Load()-1)
	}
}

// A hostile server costs a bounded number of requests and bytes, and its texts are
// quoted.
func TestHostile(t *testing.T) {
	const page = `<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>%s</ListBucketResult>`
	entry := func(name string) string {
		return "<Contents><Key>" + name + "</Key><Size>1</Size><LastModified>2026-01-01T00:00:00Z</LastModified><ETag>e</ETag></Contents>"
	}
	var requests atomic.Int64
	var answer func(http.ResponseWriter, *http.Request)
	p := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		answer(w, r)
	}))
	defer p.Close()
	b := open(t, at(&objectstest.Server{}, p.URL))
	list := func() (n int, err error) {
		for _, err := range b.List(t.Context(), "", "", 5000) {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	body := func(status int, text string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Last-Modified", "Mon, 02 Jan 2006 15:04:05 GMT")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	answer = body(200, fmt.Sprintf(page, entry("same")))
	if n, err := list(); err == nil || !strings.Contains(err.Error(), "out of its place") {
		t.Errorf("the same object for ever: %d, %v", n, err)
	}
	answer = body(200, fmt.Sprintf(page, entry("b")+entry("a")))
	if n, err := list(); n != 1 || err == nil || !strings.Contains(err.Error(), "out of its place") {
		t.Errorf("out of order: %d, %v", n, err)
	}
	answer = body(500, strings.Repeat("\x1b[2Jx", 100))
	requests.Store(0)
	if _, err := b.Stat(t.Context(), "x"); err == nil || strings.Contains(err.Error(), "\x1b") || requests.Load() != 4 {
		t.Errorf("an error with escapes: %v after %d requests", err, requests.Load())
	}
	if _, _, err := get(t, b, "x", objects.Range{}, ""); err == nil || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 1000 {
		t.Errorf("an error with escapes: %v", err)
	}
	answer = body(200, "more than was asked for")
	if _, _, err := get(t, b, "x", objects.Range{From: 1, Length: 2}, ""); err == nil || !strings.Contains(err.Error(), "whole object") {
		t.Errorf("a server that ignores the range: %v", err)
	}
	answer = body(403, "<Error><Code>AccessDenied</Code></Error>")
	requests.Store(0)
	if _, err := b.PutNew(t.Context(), "x", strings.NewReader("x"), 1, objects.Put{}); !errors.Is(err, objects.ErrDenied) || requests.Load() != 1 {
		t.Errorf("%v after %d requests", err, requests.Load())
	}
	answer = body(404, "<Error><Code>NoSuchBucket</Code></Error>")
	if _, err := b.PutNew(t.Context(), "x", strings.NewReader("x"), 1, objects.Put{}); !errors.Is(err, objects.ErrNoBucket) {
		t.Errorf("%v", err)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]objects.Location{
		"s3://bucket": {Bucket: "bucket"}, "s3://bucket/": {Bucket: "bucket"}, "s3://bucket/a/b/": {Bucket: "bucket", Name: "a/b/"},
	} {
		if got, err := objects.Parse(text); got != want || err != nil {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"bucket", "s3://", "s3://b/x", "s3://bucket//x", "s3://bucket/../x", "s3://bucket/a/./b", "s3://buc\x1bket/x", "s3://user:pw@host/x"} {
		if l, err := objects.Parse(text); err == nil {
			t.Errorf("%q was read as %+v", text, l)
		}
	}
}

// Without credentials nothing is sent, and no error quotes a secret.
func TestOpen(t *testing.T) {
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	env := map[string]string{"AWS_EC2_METADATA_DISABLED": "true"}
	get := func(name string) string { return env[name] }
	if _, err := objects.Open(context.Background(), bucket, objects.Options{Getenv: get}); err == nil || !strings.Contains(err.Error(), "no credentials") {
		t.Errorf("%v", err)
	}
	env["AWS_ENDPOINT_URL"] = "https://user:hunter2@host"
	if _, err := objects.Open(context.Background(), bucket, objects.Options{Getenv: get}); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[p]\naws_access_key_id = a\naws_secret_access_key = s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	env["AWS_PROFILE"], env["AWS_ENDPOINT_URL"] = "p", "http://127.0.0.1:1"
	if _, err := objects.Open(context.Background(), bucket, objects.Options{Getenv: get}); err != nil {
		t.Errorf("a profile: %v", err)
	}
}
