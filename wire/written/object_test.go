package written

import (
	"bytes"
	"encoding/json"
	"testing"
)

// whole reports what an object says of a text that comes byte by byte.
func whole(data []byte) (opened, complete, broken bool) {
	var o object
	for i := range data {
		o.read(data[i : i+1])
	}
	return o.opened(), o.complete(), o.broken
}

var objects = []string{
	`{}`, ` { } `, `{"a":1}`, `{"a":{"b":[]}}`, `{"a":"\"\\\u00e9}","b":[-0,0.5,1e9,1E-9,-12.5e+3,true,false,null,"",{}]}`,
	`{"a":[1,[2,[3]]],"é":"😀"}`, "{\n\t\"a\" : 1 ,\r\n \"b\" : 2 }",
	``, ` `, `[]`, `"a"`, `1`, `nul`, `{}{}`, `{"a":1}}`, `{"a":1]`, `{"a":[1}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{"a":01}`, `{"a":-}`, `{"a":1.}`,
	`{"a":1e}`, `{"a":.5}`, `{"a":tru}`, `{"a":truex}`, `{a:1}`, `{'a':1}`, "{\"a\":\"\n\"}", `{"a":"\x"}`, `{"a":"\u12g4"}`, `{"a":[1,]}`, `{"a":[,1]}`, `{"a":1 2}`,
	`{"a":"b"`, `{"a":`, `{"a":[`, `{"a":"\`, `{"a":--1}`, `{"a":1.e5}`, `{"a":1e+}`, `{"a" "b"}`, `{"a":nullnull}`, `{"a":true false}`,
}

// TestObject: what is complete is what a parser takes, and what is broken stays so however it goes on.
func TestObject(t *testing.T) {
	for _, text := range objects {
		checkObject(t, []byte(text))
	}
	if _, complete, broken := whole([]byte(`{"a":` + string(bytes.Repeat([]byte("["), 5000)))); complete || !broken {
		t.Error("5000 levels are not too many")
	}
}

func checkObject(t *testing.T, data []byte) {
	t.Helper()
	opened, complete, broken := whole(data)
	is := json.Valid(data) && bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
	if complete != is {
		t.Errorf("%q: complete is %v", data, complete)
	}
	if complete && (!opened || broken) {
		t.Errorf("%q: opened %v, broken %v", data, opened, broken)
	}
	if broken {
		return
	}
	for n := range data { // no beginning of a whole object is broken; it is complete only if white space alone is missing
		if _, early, broken := whole(data[:n]); broken || early && len(bytes.TrimSpace(data[n:])) > 0 {
			t.Errorf("%q of %q: complete %v, broken %v", data[:n], data, early, broken)
		}
	}
}

func FuzzObject(f *testing.F) {
	for _, text := range objects {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 400 {
			checkObject(t, data)
		}
	})
}
