package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/sotto-llm/sotto/internal/base/retry"
	"github.com/sotto-llm/sotto/internal/base/sleep"
)

// A Range is a part of an object.
type Range struct {
	From int64
	// Length is how many bytes. If zero, all from From on.
	Length int64
}

// Stat returns what the store knows about an object. The error is fs.ErrNotExist if
// there is none.
func (b *Bucket) Stat(ctx context.Context, name string) (Object, error) {
	var o Object
	err := b.do(ctx, "look up", name, b.o.Stall, func(ctx context.Context) error {
		info, err := b.core.StatObject(ctx, b.name, name, minio.StatObjectOptions{})
		o = objectOf(name, info)
		return err
	})
	return o, err
}

// Get reads an object or a part of it. If etag is not "", the object must have it,
// or else the error is ErrChanged.
//
// The stream has the bytes of one version of the object: if the connection breaks, it
// goes on with the same ETag. It ends after the bytes that were asked for, with
// io.ErrUnexpectedEOF if the store sends fewer. The caller must close it.
func (b *Bucket) Get(ctx context.Context, name string, part Range, etag string) (io.ReadCloser, Object, error) {
	if part.From < 0 || part.Length < 0 {
		return nil, Object{}, fmt.Errorf("read %s: the part from %d, %d bytes long, does not exist", b.URL(name), part.From, part.Length)
	}
	ctx, cancel := context.WithCancel(ctx)
	r := &reader{b: b, ctx: ctx, cancel: cancel, name: name, part: part, etag: etag, series: b.o.Retry.Start()}
	r.stall = time.AfterFunc(b.o.Stall, cancel)
	for {
		o, err := r.open()
		if err == nil {
			return r, o, nil
		}
		if !r.again(err) {
			r.Close()
			return nil, Object{}, b.failure("read", name, err)
		}
	}
}

// A reader is the stream of an object, over as many requests as it takes.
type reader struct {
	b      *Bucket
	ctx    context.Context
	cancel context.CancelFunc
	name   string
	part   Range // what is still to come, once it is open
	etag   string
	opened bool
	body   io.ReadCloser
	stall  *time.Timer // ends the request when no byte comes
	series *retry.Series
}

// open asks for what is still to come.
func (r *reader) open() (Object, error) {
	var o minio.GetObjectOptions
	switch {
	case r.part.Length > 0:
		o.Set("Range", fmt.Sprintf("bytes=%d-%d", r.part.From, r.part.From+r.part.Length-1))
	case r.part.From > 0:
		o.Set("Range", fmt.Sprintf("bytes=%d-", r.part.From))
	}
	if r.etag != "" {
		o.Set("If-Match", `"`+r.etag+`"`)
	}
	r.stall.Reset(r.b.o.Stall)
	body, info, header, err := r.b.core.GetObject(context.WithValue(r.ctx, wantsBody{}, true), r.b.name, r.name, o)
	if err != nil {
		return Object{}, err
	}
	length, total := info.Size, info.Size
	if content := header.Get("Content-Range"); content != "" {
		from, size, ok := contentRange(content)
		if !ok || from != r.part.From {
			err = fmt.Errorf("the server sent another part of the object: %.60q", content)
		}
		total = size
	} else if r.part.From > 0 || r.part.Length > 0 && length > r.part.Length {
		err = errors.New("the server sent the whole object when a part was asked for")
	}
	if length < 0 || r.part.Length > 0 && length > r.part.Length {
		err = errors.Join(err, errors.New("the server did not announce the length of what it sent"))
	}
	if err != nil {
		body.Close()
		return Object{}, err
	}
	if !r.opened { // an object may end before the part does
		r.opened, r.part.Length, r.etag = true, length, info.ETag
	}
	r.body = body
	info.Size = total
	return objectOf(r.name, info), nil
}

// contentRange reads bytes FROM-TO/SIZE.
func contentRange(text string) (from, size int64, ok bool) {
	text, ok1 := strings.CutPrefix(text, "bytes ")
	span, total, ok2 := strings.Cut(text, "/")
	first, _, ok3 := strings.Cut(span, "-")
	from, err1 := strconv.ParseInt(first, 10, 64)
	size, err2 := strconv.ParseInt(total, 10, 64)
	return from, size, ok1 && ok2 && ok3 && err1 == nil && err2 == nil
}

func (r *reader) Read(p []byte) (int, error) {
	for {
		if r.part.Length == 0 {
			return 0, io.EOF
		}
		if r.body == nil {
			if _, err := r.open(); err != nil {
				if !r.again(err) {
					return 0, r.b.failure("read", r.name, err)
				}
				continue
			}
		}
		n, err := r.body.Read(p[:min(int64(len(p)), r.part.Length)])
		r.part.From += int64(n)
		r.part.Length -= int64(n)
		if n > 0 {
			r.stall.Reset(r.b.o.Stall)
			r.series = r.b.o.Retry.Start()
			return n, nil
		}
		if err == nil {
			continue
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		r.body.Close()
		r.body = nil
		if !r.again(err) {
			return 0, r.b.failure("read", r.name, err)
		}
	}
}

// again waits before another attempt, if there is one.
func (r *reader) again(err error) bool {
	wait, ok := r.series.Next(retry.Verdict{Again: temporary(err)})
	if !ok {
		return false
	}
	r.stall.Reset(wait + r.b.o.Stall)
	return sleep.For(r.ctx, wait) == nil
}

func (r *reader) Close() error {
	r.stall.Stop()
	r.cancel()
	if r.body != nil {
		return r.body.Close()
	}
	return nil
}

// List yields the objects whose names begin with prefix, in the order of their names
// as bytes, after the name after. It stops after most objects with [ErrTooMany]; if
// most is zero, there is no bound.
func (b *Bucket) List(ctx context.Context, prefix, after string, most int) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		n, last := 0, after
		for {
			var page []minio.ObjectInfo
			err := b.do(ctx, "list", prefix, b.o.Stall, func(ctx context.Context) (err error) {
				page, err = b.page(ctx, prefix, last)
				return err
			})
			if err != nil {
				yield(Object{}, err)
				return
			}
			for _, info := range page {
				if !strings.HasPrefix(info.Key, prefix) || info.Key <= last || info.Size < 0 {
					yield(Object{}, fmt.Errorf("list %s: the server's list has %.100q out of its place", b.URL(prefix), info.Key))
					return
				}
				if n++; most > 0 && n > most {
					yield(Object{}, fmt.Errorf("list %s: %w: over %d", b.URL(prefix), ErrTooMany, most))
					return
				}
				last = info.Key
				if !yield(objectOf(info.Key, info), nil) {
					return
				}
			}
			if len(page) < pageSize {
				return
			}
		}
	}
}

// ErrTooMany is in the error of a listing that is longer than its bound.
var ErrTooMany = errors.New("there are too many objects")

const pageSize = 1000

// page asks for the next objects of a list; there are fewer than pageSize only at its
// end.
func (b *Bucket) page(ctx context.Context, prefix, after string) (page []minio.ObjectInfo, err error) {
	for info := range b.core.ListObjectsIter(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: true, StartAfter: after, MaxKeys: pageSize}) {
		if info.Err != nil {
			return nil, info.Err
		}
		page = append(page, info)
		if len(page) == pageSize {
			break
		}
	}
	return page, ctx.Err()
}

// Delete removes an object. That there is none is not an error.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	return b.do(ctx, "remove", name, b.o.Stall, func(ctx context.Context) error {
		return b.core.RemoveObject(ctx, b.name, name, minio.RemoveObjectOptions{})
	})
}

func objectOf(name string, info minio.ObjectInfo) Object {
	o := Object{Name: name, Size: info.Size, ETag: info.ETag, Modified: info.LastModified}
	if len(info.UserMetadata) > 0 {
		o.Meta = map[string]string{}
		for k, v := range info.UserMetadata {
			o.Meta[strings.ToLower(k)] = v
		}
	}
	return o
}
