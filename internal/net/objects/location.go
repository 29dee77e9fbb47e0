package objects

import (
	"fmt"
	"strings"

	"github.com/sotto-llm/sotto/internal/base/errorhint"
)

// Scheme is what the address of an object begins with.
const Scheme = "s3://"

// A Location is a bucket and a name or prefix in it.
type Location struct {
	Bucket string
	Name   string // without a slash in front; "" is the whole bucket
}

func (l Location) String() string {
	if l.Name == "" {
		return Scheme + l.Bucket
	}
	return Scheme + l.Bucket + "/" + l.Name
}

// Is reports whether a text is the address of an object rather than the name of a
// file.
func Is(text string) bool { return strings.HasPrefix(text, Scheme) }

// Parse reads s3://BUCKET/NAME. A slash at the end stays, since it is part of a
// prefix.
func Parse(text string) (Location, error) {
	rest, ok := strings.CutPrefix(text, Scheme)
	if !ok {
		return Location{}, wrong(text, "it does not begin with s3://")
	}
	bucket, name, _ := strings.Cut(rest, "/")
	if len(bucket) < 3 || len(bucket) > 63 || strings.Trim(bucket, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") != "" ||
		strings.Contains(bucket, "..") {
		return Location{}, wrong(text, "the name of a bucket has 3 to 63 letters, digits, dots and hyphens")
	}
	if name != "" {
		if err := CheckName(strings.TrimSuffix(name, "/")); err != nil {
			return Location{}, wrong(text, err.Error())
		}
	}
	return Location{bucket, name}, nil
}

func wrong(text, why string) error {
	return errorhint.Usage(fmt.Errorf("%.200q is not the address of objects: %s", text, why), "write s3://BUCKET/PREFIX")
}
