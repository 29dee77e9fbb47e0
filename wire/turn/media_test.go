package turn_test

import (
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire/turn"
)

// TestMedia: a URL is read into its parts, and those are the same URL again.
func TestMedia(t *testing.T) {
	for url, want := range map[string]turn.Media{
		"data:image/png;base64,eA==":           {Type: "image/png", Data: "eA=="},
		"data:text/plain;charset=x;base64,eA,": {Type: "text/plain;charset=x", Data: "eA,"},
		"data:;base64,eA==":                    {URL: "data:;base64,eA=="},
		"data:image/png;base64,":               {URL: "data:image/png;base64,"},
		"data:text/plain,eA==":                 {URL: "data:text/plain,eA=="},
		"https://a/b;base64,c":                 {URL: "https://a/b;base64,c"},
		"":                                     {},
	} {
		if got := turn.MediaOf(url); got != want || got.Link() != url {
			t.Errorf("%q: %+v, and %q; want %+v", url, got, got.Link(), want)
		}
	}
}

// TestMediaKind has data and URLs without a type, and what they look like.
func TestMediaKind(t *testing.T) {
	for _, test := range []struct {
		m    turn.Media
		want string
	}{
		{turn.Media{Type: "a/b", Data: "iVBORw0KGgo="}, "a/b"},
		{turn.Media{Data: "iVBORw0KGgo="}, "image/png"},
		{turn.Media{Data: "iVBORw0KGgoA" + strings.Repeat("AAAA", 1000) + "!"}, "image/png"},
		{turn.Media{Data: "AAEC"}, ""},
		{turn.Media{Data: "!"}, "text/plain"},
		{turn.Media{Data: "!!!!"}, ""},
		{turn.Media{URL: "https://a/b.JPG?c=.png"}, "image/jpeg"},
		{turn.Media{URL: "https://a/b"}, ""},
	} {
		if got := test.m.Kind(); got != test.want {
			t.Errorf("%.40v: %q, want %q", test.m, got, test.want)
		}
	}
	if got := (&turn.Media{Data: "AAEC"}).Link(); got != "" {
		t.Errorf("a link of data whose type is not known: %q", got)
	}
}
