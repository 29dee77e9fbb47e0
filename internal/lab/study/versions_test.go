package study

import (
	"errors"
	"slices"
	"testing"
)

// What has changed since a study ran is named; a version that is not known says nothing.
func TestSince(t *testing.T) {
	s := &Study{Manifest: Manifest{Sotto: "v1.0.0", Made: &Made{Dialects: "aaa"}, Inputs: []Input{{Name: "p.yaml", Role: "prices", SHA256: "111"}, {Name: "same", SHA256: "222"}, {Name: "gone", SHA256: "333"}}}}
	find := func(was Input) (Input, error) {
		switch was.Name {
		case "p.yaml":
			return Input{SHA256: "999"}, nil
		case "gone":
			return was, errors.New("gone")
		}
		return was, nil
	}
	want := []string{
		"the program was sotto v1.0.0, and is v2.0.0", "the table of dialects had the digest aaa, and has bbb",
		"prices p.yaml had the digest 111, and has 999", "gone is not there any more",
	}
	if got := s.Since("v2.0.0", "bbb", find); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := s.Since("(devel)", "aaa", find); !slices.Equal(got, want[2:]) {
		t.Errorf("%q", got)
	}
}
