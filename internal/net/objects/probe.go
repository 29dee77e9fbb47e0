package objects

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
)

// ErrUnconditional is in the error of a probe of a server that replaces objects
// although the request says that none may be there.
var ErrUnconditional = errors.New("the object store does not honour If-None-Match")

// probeName is the object of a probe, below the prefix. It stays: credentials that
// can only write cannot remove it, and the next probe uses it.
const (
	probeName = "sotto-probe"
	probeText = "Sotto wrote this object to find out whether the store honours If-None-Match.\n"
)

// Probe finds out whether the server honours If-None-Match: *, in one request and in
// several. Some servers accept the header and ignore it; there, two writers could
// replace each other's objects. It leaves a small object below the prefix. Rights to
// write suffice.
func (b *Bucket) Probe(ctx context.Context, prefix string) error {
	name := strings.TrimSuffix(prefix, "/")
	if name != "" {
		name += "/"
	}
	name += probeName
	var err error
	for range 3 { // a server that was restarted meanwhile may have lost the object; one that ignores the header does so always
		if err = b.probe(ctx, name); !errors.Is(err, ErrUnconditional) {
			return err
		}
	}
	return err
}

func (b *Bucket) probe(ctx context.Context, name string) error {
	put := func() error {
		_, err := b.PutNew(ctx, name, strings.NewReader(probeText), int64(len(probeText)), Put{Type: "text/plain"})
		return err
	}
	err := put()
	if err == nil {
		err = put() // now it is there
	}
	if errors.Is(err, ErrExists) {
		u := upload{b: b, name: name, body: strings.NewReader(probeText), size: int64(len(probeText)),
			condition: func(o *minio.PutObjectOptions) { o.SetMatchETagExcept("*") }}
		_, err = u.parts(ctx)
	}
	switch {
	case errors.Is(err, ErrExists):
		return nil
	case err == nil, errors.Is(err, errNotImplemented): // a server that refuses the header does not honour it either
		return errorhint.Add(fmt.Errorf("%s: %w: a second writer would replace the objects of the first", Scheme+b.name, ErrUnconditional),
			"use a store that has conditional writes, such as Amazon S3, MinIO, Ceph, Cloudflare R2 or versitygw, and update it to a version that has them")
	}
	return err
}
