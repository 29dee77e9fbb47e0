package settings

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/base/bytesize"
	"github.com/sotto-llm/sotto/internal/base/loglevel"
	"github.com/sotto-llm/sotto/internal/data/yamlfile"
	"github.com/sotto-llm/sotto/internal/net/objects"
)

// A value is a field of the settings, and its form as text: in the file, in the
// environment, and on the command line.
type value struct {
	want  string // for messages: "a duration such as 30s"
	kinds []yamlfile.Kind
	list  bool
	orOne bool                    // for a list: a single string is accepted
	set   func(text string) error // for a list: adds one item
	clear func()                  // for a list: called before the first item
	get   func() any              // for the file that --check prints; returns nil if nothing is set
	words []string                // the values, if there are only a few
	// field points to the field. It is nil if no other field can take its value.
	field any
	// isPath reports whether a text names a file or a folder. If nil, none does.
	isPath func(text string) bool
}

// inherit takes the value of another field if this one is not set.
func (v value) inherit(from value) {
	to := reflect.ValueOf(v.field).Elem()
	if to.IsZero() || to.Kind() == reflect.Slice && to.Len() == 0 {
		v.copy(from)
	}
}

// copy takes the value of another field.
func (v value) copy(from value) {
	reflect.ValueOf(v.field).Elem().Set(reflect.ValueOf(from.field).Elem())
}

// resolve makes paths begin in a folder.
func (v value) resolve(folder string) {
	if v.isPath == nil {
		return
	}
	var paths []*string
	switch p := v.field.(type) {
	case *string:
		paths = []*string{p}
	case *secret:
		paths = []*string{&p.file}
	case *[]string:
		for i := range *p {
			paths = append(paths, &(*p)[i])
		}
	}
	for _, p := range paths {
		if *p != "" && !filepath.IsAbs(*p) && v.isPath(*p) {
			*p = filepath.Join(folder, *p)
		}
	}
}

func textValue[T ~string](p *T, want string, check func(string) error) value {
	return value{
		field: p,
		want:  want,
		kinds: []yamlfile.Kind{yamlfile.Text},
		set: func(text string) error {
			err := checkText(text)
			if err == nil && check != nil {
				err = check(text)
			}
			if err != nil {
				return err
			}
			*p = T(text)
			return nil
		},
		get: func() any {
			if *p == "" {
				return nil
			}
			return string(*p)
		},
	}
}

// wordValue is one of a few words, which what uses it checks.
func wordValue[T ~string](p *T, words []T) value {
	v := textValue(p, anyOf(words), nil)
	v.words = wordsOf(words)
	return v
}

// checkedWord is one of a few words.
func checkedWord(p *string, words []string) value {
	v := textValue(p, anyOf(words), func(text string) error {
		if !slices.Contains(words, text) {
			return fmt.Errorf("%q: want %s", text, anyOf(words))
		}
		return nil
	})
	v.words = words
	return v
}

// startValue says where replies begin.
func startValue(p *sotto.Beginning) value {
	v := textValue(p, "outside, inside, inside:NAME or auto", nil)
	v.words = wordsOf([]sotto.Beginning{sotto.BeginOutside, sotto.BeginInsideFirst, sotto.BeginAuto})
	return v
}

// fileValue is the name of a file.
func fileValue(p *string) value { return pathValue(p, "the name of a file") }

// pathValue is the name of a file or a folder.
func pathValue(p *string, want string) value {
	v := textValue(p, want, nil)
	v.isPath = func(string) bool { return true }
	return v
}

// filesValue is a list of files.
func filesValue(p *[]string, want string) value {
	v := listValue(p, want, checkText)
	v.isPath = func(string) bool { return true }
	return v
}

// recipientsValue is a list of the keys that a record is encrypted to, and of files with
// them.
func recipientsValue(p *[]string) value {
	v := filesValue(p, "a list of age recipients, or of files with them")
	v.isPath = func(text string) bool { return !strings.HasPrefix(text, "age1") }
	return v
}

// secretFile is the name of a file with a secret.
func secretFile(t *secret) value {
	v := fileValue(&t.file)
	v.field = t
	return v
}

func listValue(p *[]string, want string, check func(string) error) value {
	return value{
		field: p,
		want:  want,
		kinds: []yamlfile.Kind{yamlfile.Text},
		list:  true,
		clear: func() { *p = nil },
		set: func(text string) error {
			if err := check(text); err != nil {
				return err
			}
			*p = append(*p, text)
			return nil
		},
		get: func() any {
			if len(*p) == 0 {
				return nil
			}
			return *p
		},
	}
}

// nameList is a list that can also be written as one string, with commas.
func nameList(p *[]string) value {
	v := listValue(p, "a field's name, or a list of them", func(string) error { return nil })
	return commas(v)
}

// commas lets a list be written as one string, with commas.
func commas(v value) value {
	v.orOne = true
	add := v.set
	v.set = func(text string) error {
		for name := range strings.SplitSeq(text, ",") {
			if err := add(strings.TrimSpace(name)); err != nil {
				return err
			}
		}
		return nil
	}
	return v
}

func yesNo(p *bool) value {
	return value{
		field: p,
		want:  "true or false",
		kinds: []yamlfile.Kind{yamlfile.Bool},
		set: func(text string) error {
			on, err := strconv.ParseBool(text)
			if err != nil {
				return fmt.Errorf("%q: want true or false", text)
			}
			*p = on
			return nil
		},
		get: func() any { return *p },
	}
}

const wantDuration = "a duration such as 30s, 10m or 6h"

func durationValue(p *time.Duration) value {
	return durationFrom(p, 1, "want more than 0")
}

// durationOrNone is a duration that may be absent.
func durationOrNone(p *time.Duration) value {
	return durationFrom(p, 0, "want 0 or more")
}

func durationFrom(p *time.Duration, least time.Duration, tooLittle string) value {
	return value{
		field: p,
		want:  wantDuration,
		kinds: []yamlfile.Kind{yamlfile.Text},
		set: func(text string) error {
			d, err := time.ParseDuration(text)
			switch {
			case err != nil:
				return fmt.Errorf("%q: want %s", text, wantDuration)
			case d < least:
				return fmt.Errorf("%q: %s", text, tooLittle)
			}
			*p = d
			return nil
		},
		get: func() any { return shortDuration(*p) },
	}
}

// shortDuration writes a duration without its zero parts.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func countValue(p *int) value {
	const want = "a whole number"
	return value{
		field: p,
		want:  want,
		kinds: []yamlfile.Kind{yamlfile.Int},
		set: func(text string) error {
			n, err := strconv.ParseInt(text, 0, strconv.IntSize)
			switch {
			case err != nil:
				return fmt.Errorf("%q: want %s", text, want)
			case n < 1:
				return fmt.Errorf("%s: want 1 or more", text)
			}
			*p = int(n)
			return nil
		},
		get: func() any { return *p },
	}
}

// sizeOrNone is a size that may be unset.
func sizeOrNone(p *int64) value {
	v := sizeValue(p)
	v.get = func() any {
		if *p == 0 {
			return nil
		}
		return bytesize.Format(*p)
	}
	return v
}

// countOrNone is a count that may be unset.
func countOrNone(p *int) value {
	v := countValue(p)
	v.get = func() any {
		if *p == 0 {
			return nil
		}
		return *p
	}
	return v
}

func sizeValue[T int | int64](p *T) value {
	return value{
		field: p,
		want:  bytesize.Want,
		kinds: []yamlfile.Kind{yamlfile.Int, yamlfile.Text},
		set: func(text string) error {
			n, err := bytesize.Parse[T](text)
			if err != nil {
				return err
			}
			*p = n
			return nil
		},
		get: func() any { return bytesize.Format(int64(*p)) },
	}
}

// thinkingValue is a size in bytes, or a number of tokens, of which each counts as four
// bytes. It may be unset.
func thinkingValue(p *int) value {
	const want = "a size such as 64KiB, or a number of tokens such as 16000 tokens"
	return value{
		field: p,
		want:  want,
		kinds: []yamlfile.Kind{yamlfile.Int, yamlfile.Text},
		set: func(text string) error {
			if count, ok := strings.CutSuffix(text, " tokens"); ok {
				n, err := strconv.Atoi(count)
				if err != nil || n < 1 || n > math.MaxInt32 {
					return fmt.Errorf("%q: want %s", text, want)
				}
				*p = n * bytesPerToken
				return nil
			}
			n, err := bytesize.Parse[int](text)
			if err != nil {
				return fmt.Errorf("%q: want %s", text, want)
			}
			*p = n
			return nil
		},
		get: func() any {
			if *p == 0 {
				return nil
			}
			return bytesize.Format(int64(*p))
		},
	}
}

// bytesPerToken is how many bytes a token counts where tokens are not counted.
const bytesPerToken = 4

// baseURL is the URL of an upstream. Anything that may be a password is never
// repeated.
func baseURL(p **url.URL) value {
	return serverURL(p, "a URL such as http://localhost:11434", "upstream-key-file or SOTTO_UPSTREAM_KEY")
}

// collectorURL is the address of an OpenTelemetry collector.
func collectorURL(p **url.URL) value {
	return serverURL(p, "a URL such as http://localhost:4318", "OTEL_EXPORTER_OTLP_HEADERS")
}

// serverURL is the address of a server. key is what holds its key.
func serverURL(p **url.URL, want, key string) value {
	return value{
		field: p,
		want:  want,
		kinds: []yamlfile.Kind{yamlfile.Text},
		set: func(text string) error {
			u, err := url.Parse(text)
			switch {
			case strings.Contains(text, "@"):
				return errors.New("the URL holds a user name or password: give the key with " + key)
			case strings.ContainsAny(text, "?#"):
				return errors.New("a base URL has no query and no fragment")
			case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
				return fmt.Errorf("%q: want %s", text, want)
			}
			*p = u
			return nil
		},
		get: func() any {
			if *p == nil {
				return nil
			}
			return (*p).String()
		},
	}
}

func checkText(text string) error {
	if text == "" {
		return errors.New("is empty")
	}
	return nil
}

func checkAddress(text string) error {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return fmt.Errorf("%q: want HOST:PORT, such as 127.0.0.1:8383", text)
	}
	return nil
}

func checkScripted(text string) error {
	err := checkAddress(text)
	if err == nil && !IsLoopback(text) {
		err = fmt.Errorf("%q: scripted replies are served to this machine only", text)
	}
	return err
}

func checkObjects(text string) error {
	_, err := objects.Parse(text)
	return err
}

func checkOrigin(text string) error {
	if text == "*" || text == "null" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || u.Scheme+"://"+u.Host != text {
		return fmt.Errorf("%q: want an origin such as https://chat.example, without a path, or * or null", text)
	}
	return nil
}

// checkPage accepts the URL under which clients reach a server.
func checkPage(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q is not a URL such as https://agent.example", text)
	}
	return nil
}

func checkPrefix(text string) error {
	if _, err := netip.ParsePrefix(text); err != nil {
		return fmt.Errorf("%q is not a range of addresses such as 10.1.0.0/16", text)
	}
	return nil
}

func levelValue(to *slog.Level) value {
	return value{
		field: to,
		words: []string{"debug", "info", "warn", "error"},
		want:  loglevel.Names,
		kinds: []yamlfile.Kind{yamlfile.Text},
		set: func(text string) error {
			level, err := loglevel.Parse(text)
			if err == nil {
				*to = level
			}
			return err
		},
		get: func() any { return loglevel.Name(*to) },
	}
}

// checkLoopback accepts an address that only this machine reaches.
func checkLoopback(address string) error {
	if err := checkAddress(address); err != nil {
		return err
	}
	if !IsLoopback(address) {
		return fmt.Errorf("%q: other machines could reach this address: want one of loopback, such as 127.0.0.1:6060 or [::1]:6060", address)
	}
	return nil
}
