package shell

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
	"github.com/sotto-llm/sotto/internal/net/objects"
)

// An object is what a command reads of an object store.
type object struct {
	io.ReadCloser
	bucket *objects.Bucket
}

// Close ends the reading and the connection.
func (o object) Close() error {
	defer o.bucket.Close()
	return o.ReadCloser.Close()
}

// openObject opens one object as a stream. Endpoint and credentials come from the
// variables and files of AWS.
func (sh *Shell) openObject(address string) (*Input, error) {
	at, err := objects.Parse(address)
	if err != nil {
		return nil, errorhint.Usage(err, "")
	}
	if at.Name == "" || strings.HasSuffix(at.Name, "/") || strings.ContainsAny(at.Name, "*?[") {
		return nil, errorhint.Usage(fmt.Errorf("%s: want one object, s3://BUCKET/NAME", address), "several objects are read with --shard 0/1")
	}
	ctx := context.Background() // an interrupt ends the process
	b, err := objects.Open(ctx, at.Bucket, objects.Options{Getenv: sh.Getenv})
	if err != nil {
		return nil, err
	}
	body, _, err := b.Get(ctx, at.Name, objects.Range{}, "")
	if err != nil {
		b.Close()
		return nil, err
	}
	return InputOf(address, object{body, b}), nil
}

// checkOutput refuses to write a single object: outputs in a bucket are those of shards.
func checkOutput(name string) error {
	if objects.Is(name) {
		return errorhint.Usage(fmt.Errorf("%s: the output is an object", name), "write to a bucket with --shard 0/1 and --output s3://BUCKET/PREFIX")
	}
	return nil
}
