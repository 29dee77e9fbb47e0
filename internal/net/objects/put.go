package objects

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/minio/minio-go/v7"
)

// Put says how an object is written. Its zero value is right.
type Put struct {
	Meta map[string]string // metadata of the writer, in ASCII
	Type string            // its media type; "" is application/octet-stream
	// Sent is called with the number of bytes that the store has, each time that
	// it grows. If nil, nobody asked.
	Sent func(int64)
}

const (
	// onePut is the largest object that is sent in one request.
	onePut = 64 << 20
	// partSize is the size of each part of a larger one, if maxParts of them are
	// enough for it.
	partSize = 16 << 20
	maxParts = 10000
	// slowest is the rate in bytes per second below which a request is given up.
	slowest = 64 << 10
)

// PutNew writes an object of a name that is free. If the bucket has one, the error is
// ErrExists, and nothing changes. Only servers that a [Bucket.Probe] accepted do this.
func (b *Bucket) PutNew(ctx context.Context, name string, body io.ReaderAt, size int64, p Put) (Object, error) {
	return b.put(ctx, name, body, size, p, func(o *minio.PutObjectOptions) { o.SetMatchETagExcept("*") })
}

// Put writes an object, and replaces one of the same name. If etag is not "", it only
// replaces an object that has it, or else the error is ErrChanged.
func (b *Bucket) Put(ctx context.Context, name string, body io.ReaderAt, size int64, etag string, p Put) (Object, error) {
	return b.put(ctx, name, body, size, p, func(o *minio.PutObjectOptions) {
		if etag != "" {
			o.SetMatchETag(etag)
		}
	})
}

func (b *Bucket) put(ctx context.Context, name string, body io.ReaderAt, size int64, p Put, condition func(*minio.PutObjectOptions)) (Object, error) {
	if err := CheckName(name); err != nil {
		return Object{}, err
	}
	u := upload{b: b, name: name, body: body, size: size, put: p, condition: condition}
	var etag string
	var err error
	if size > onePut {
		etag, err = u.parts(ctx)
	} else {
		etag, err = u.whole(ctx)
	}
	if err != nil {
		return Object{}, err
	}
	return Object{Name: name, Size: size, ETag: etag, Meta: p.Meta}, nil
}

// An upload is an object that is being written.
type upload struct {
	b         *Bucket
	name      string
	body      io.ReaderAt
	size      int64
	put       Put
	condition func(*minio.PutObjectOptions)
}

func (u *upload) options() minio.PutObjectOptions {
	return minio.PutObjectOptions{UserMetadata: u.put.Meta, ContentType: u.put.Type, DisableContentSha256: true}
}

// A section is a part of the body with its digests: the store refuses one that was
// damaged on its way. The signature of the request covers the SHA-256; a bucket with
// Object Lock demands the MD5.
type section struct {
	*io.SectionReader
	sha256, md5 string
}

func (u *upload) section(from, size int64) (section, error) {
	s := io.NewSectionReader(u.body, from, size)
	h, m := sha256.New(), md5.New()
	n, err := io.Copy(io.MultiWriter(h, m), s)
	if err == nil && n != size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return section{}, fmt.Errorf("put %s: reading what is sent: %w", u.b.URL(u.name), err)
	}
	return section{s, hex.EncodeToString(h.Sum(nil)), base64.StdEncoding.EncodeToString(m.Sum(nil))}, nil
}

// within is how long a request with a body of a size may take.
func (b *Bucket) within(size int64) time.Duration {
	return b.o.Stall + time.Duration(size/slowest)*time.Second
}

func (u *upload) sent(n int64) {
	if u.put.Sent != nil {
		u.put.Sent(n)
	}
}

// whole sends the object in one request.
func (u *upload) whole(ctx context.Context) (etag string, err error) {
	body, err := u.section(0, u.size)
	if err != nil {
		return "", err
	}
	o := u.options()
	u.condition(&o)
	err = u.b.do(ctx, "put", u.name, u.b.within(u.size), func(ctx context.Context) error {
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			return err
		}
		info, err := u.b.core.PutObject(ctx, u.b.name, u.name, body, u.size, body.md5, body.sha256, o)
		etag = info.ETag
		return err
	})
	if err != nil {
		return "", u.conflict(err, o)
	}
	u.sent(u.size)
	return etag, nil
}

// conflict says what a condition that does not hold means: that there is an object,
// if none was to be.
func (u *upload) conflict(err error, o minio.PutObjectOptions) error {
	if errors.Is(err, ErrChanged) && o.Header().Get("If-None-Match") == "*" {
		return fmt.Errorf("put %s: %w", u.b.URL(u.name), ErrExists)
	}
	return err
}

// parts sends the object in parts. The condition is that of the last request, which
// makes an object of them.
func (u *upload) parts(ctx context.Context) (string, error) {
	var id string
	err := u.b.do(ctx, "put", u.name, u.b.o.Stall, func(ctx context.Context) (err error) {
		id, err = u.b.core.NewMultipartUpload(ctx, u.b.name, u.name, u.options())
		return err
	})
	if err != nil {
		return "", err
	}
	etag, err := u.complete(ctx, id)
	if err != nil { // what was sent would be kept, and cost
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), u.b.o.Stall)
		defer cancel()
		_ = u.b.core.AbortMultipartUpload(ctx, u.b.name, u.name, id)
	}
	return etag, err
}

func (u *upload) complete(ctx context.Context, id string) (string, error) {
	each := max(partSize, (u.size+maxParts-1)/maxParts)
	var done []minio.CompletePart
	for from := int64(0); from < u.size || len(done) == 0; from += each {
		size := min(each, u.size-from)
		body, err := u.section(from, size)
		if err != nil {
			return "", err
		}
		err = u.b.do(ctx, "put", u.name, u.b.within(size), func(ctx context.Context) error {
			if _, err := body.Seek(0, io.SeekStart); err != nil {
				return err
			}
			part, err := u.b.core.PutObjectPart(ctx, u.b.name, u.name, id, len(done)+1, body, size,
				minio.PutObjectPartOptions{Md5Base64: body.md5, Sha256Hex: body.sha256, DisableContentSha256: true})
			if err == nil {
				done = append(done, minio.CompletePart{PartNumber: len(done) + 1, ETag: part.ETag})
			}
			return err
		})
		if err != nil {
			return "", err
		}
		u.sent(from + size)
	}
	var o minio.PutObjectOptions
	u.condition(&o)
	var etag string
	err := u.b.do(ctx, "put", u.name, u.b.within(0), func(ctx context.Context) error {
		info, err := u.b.core.CompleteMultipartUpload(ctx, u.b.name, u.name, id, done, o)
		etag = info.ETag
		return err
	})
	return etag, u.conflict(err, o)
}
