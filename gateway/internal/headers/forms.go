package headers

import (
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
)

// A Form is the form that a header's value must have where reasoning is hidden, so
// that no thought stands in it.
type Form struct {
	Says string
	of   func(value string) (shown string, ok bool) // nil if none is shown
}

// Bounds of a header where reasoning is hidden.
const (
	longestName      = 64
	longestFact      = 128
	longestAddress   = 512
	longestMediaType = 64
	mostValues       = 4
	mostWords        = 16
)

var (
	unseen     = Form{"not shown", nil}
	aNumber    = Form{"a number, a duration, a date, true or false", unchanged(isNumber)}
	aFact      = Form{"an id or a number, without white space, of at most 128 bytes", unchanged(func(v string) bool { return isNumber(v) || isFact(v) })}
	anAddress  = Form{"an address of at most 512 bytes, without white space and the characters of markers", unchanged(isAddress)}
	aMediaType = Form{"a type, and of its parameters `charset` and `boundary`", mediaType}
)

// unchanged is a form whose values pass as they are.
func unchanged(is func(string) bool) func(string) (string, bool) {
	return func(v string) (string, bool) { return v, is(v) }
}

var (
	numberForm   = lazyregexp.New(`^(@|[+-])?[0-9]{1,20}(\.[0-9]{1,20})?%?$`)
	durationForm = lazyregexp.New(`^([0-9]{1,10}(\.[0-9]{1,10})?(ns|us|µs|ms|s|m|h|d)){1,5}$`)
	rangeForm    = lazyregexp.New(`^[0-9]{0,20}[-*]?[0-9]{0,20}/([0-9]{1,20}|\*)$`)
	factForm     = lazyregexp.New(`^[A-Za-z0-9_.:/=+@~;,|#"-]{1,128}$`)
)

func isNumber(v string) bool {
	if numberForm.MatchString(v) || durationForm.MatchString(v) || v == "true" || v == "false" {
		return true
	}
	if _, err := time.Parse(time.RFC3339, v); err == nil && len(v) <= longestFact {
		return true
	}
	_, err := http.ParseTime(v)
	return err == nil
}

// isFact reports whether a value is one short word, such as an id.
func isFact(v string) bool { return factForm.MatchString(v) }

// isAddress reports whether a value is a reference in which neither white space nor a
// character of a marker stands, not even in an encoded form.
func isAddress(v string) bool {
	u, err := url.Parse(v)
	if err != nil || len(v) > longestAddress || u.Fragment != "" || u.User != nil {
		return false
	}
	query, err := url.QueryUnescape(u.RawQuery)
	host := u.Host
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && a.Is6() && a.Zone() == "" {
		host = "" // its address stands in brackets
	}
	return err == nil && !strings.ContainsFunc(u.Path+u.Opaque+host+query, func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r) || strings.ContainsRune("<>[]{}|`\"\\", r)
	})
}

// mediaType shows the type of a body, and the parameters that are needed to read it.
func mediaType(v string) (string, bool) {
	kind, params, err := mime.ParseMediaType(v)
	if err != nil || len(kind) > longestMediaType || !slices.Contains(mediaTypes, strings.Split(kind, "/")[0]) {
		return "", false
	}
	shown := map[string]string{}
	for _, name := range []string{"charset", "boundary"} {
		if p := params[name]; p != "" && len(p) <= longestMediaType && isFact(p) {
			shown[name] = p
		}
	}
	return mime.FormatMediaType(kind, shown), true
}

// mediaTypes are the registered kinds of media types.
var mediaTypes = []string{"application", "audio", "font", "image", "model", "multipart", "text", "video"}

// someWords is the form of a list of known words, of numbers, and of both with an equals
// sign.
func someWords(words ...string) Form {
	known := func(v string) bool { return slices.Contains(words, strings.ToLower(v)) }
	return Form{"`" + strings.Join(words, "`, `") + "`, and numbers", unchanged(func(v string) bool {
		items := strings.FieldsFunc(v, func(r rune) bool { return r == ',' || r == ';' || r == ' ' })
		if isNumber(v) {
			return true
		}
		for _, item := range items {
			key, value, both := strings.Cut(item, "=")
			switch {
			case both && known(key) && isNumber(value), !both && (known(item) || isNumber(item) || rangeForm.MatchString(item)):
			default:
				return false
			}
		}
		return len(items) <= mostWords
	})}
}
