package gemini

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire"
)

// read gives an array's stream to a carriage in pieces, rewrites each event, and
// returns what a client gets.
func read(t *testing.T, stream string, cuts []int, rewrite func(event string) string) (events []string, out string, err error) {
	t.Helper()
	a := &array{}
	var client, held []byte
	from := 0
	for _, to := range append(cuts, len(stream)) {
		held = append(held, stream[from:to]...)
		from = to
		for {
			n, f, err := a.Next(held)
			if err != nil {
				return events, string(client), err
			}
			if n == 0 {
				break
			}
			if f.Raw != nil {
				if got := string(f.Raw[f.At : f.At+len(f.Data)]); got != string(f.Data) {
					t.Fatalf("the data is %q, and the event has %q there", f.Data, got)
				}
				events = append(events, string(f.Data))
				client = a.Append(client, []byte(rewrite(string(f.Raw))))
			}
			held = append([]byte(nil), held[n:]...)
		}
	}
	err = a.Last(held)
	return events, string(a.End(client)), err
}

func same(event string) string { return event }

// streams are arrays as servers write them.
var streams = []string{
	`[{"a":1},{"b":[{"c":"}]"}]}]`,
	"[{\n  \"a\": \"x\\\"],\\\\\"\n}\n,\r\n{\r\n  \"b\": {}\r\n}\n]\n",
	"  [ {} , {} ]  ",
	"[]", "[ ]\n", "\n[{}]",
}

// TestArray reads arrays cut at every byte: the elements come as they are, what is
// unchanged goes out byte for byte, and what is dropped leaves an array.
func TestArray(t *testing.T) {
	for _, stream := range streams {
		whole, _, err := read(t, stream, nil, same)
		if err != nil {
			t.Errorf("%q: %v", stream, err)
		}
		for cut := range len(stream) {
			events, out, err := read(t, stream, []int{cut}, same)
			if err != nil || out != stream || strings.Join(events, "|") != strings.Join(whole, "|") {
				t.Fatalf("%q cut at %d: %q, %v, %q", stream, cut, out, err, events)
			}
		}
		rng := rand.New(rand.NewPCG(1, uint64(len(stream))))
		for range 20 { // drops some, doubles others
			var kept []string
			_, out, err := read(t, stream, nil, func(event string) string {
				times := rng.IntN(3)
				for range times {
					kept = append(kept, strings.TrimSpace(strings.TrimPrefix(event, "data: ")))
				}
				return strings.Repeat(event, times)
			})
			again, _, err2 := read(t, out, nil, same)
			if err != nil || err2 != nil || strings.Join(again, "|") != strings.Join(kept, "|") {
				t.Fatalf("%q became %q: %v, %v", stream, out, err, err2)
			}
		}
	}
}

// TestBrokenArrays checks what is no array of objects, and what breaks off.
func TestBrokenArrays(t *testing.T) {
	for stream, want := range map[string]error{
		"": errCutArray, "[": errCutArray, "[{}": errCutArray, "[{},": errCutArray, `[{"a":`: errCutArray,
		"{}": errNoArray, "[1]": errNoArray, "[{}{}]": errNoArray, "[,{}]": errNoArray, "[{},]": errNoArray, "[]x": errNoArray, "[{}]]": errNoArray,
		"[{\"a\":\"\n\"}]": wire.ErrUnreadable,
	} {
		if _, _, err := read(t, stream, nil, same); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", stream, err, want)
		}
	}
}

// TestArrayEnds checks that an event of ours is an element, before or after the
// upstream's own, and that an array which broke off is closed.
func TestArrayEnds(t *testing.T) {
	for _, stream := range []string{"", "[", "[]", "[{}", "[{}]", "[{}\n]\n"} {
		a := &array{}
		var out []byte
		for b := []byte(stream); ; {
			n, f, err := a.Next(b)
			if n == 0 || err != nil {
				break
			}
			if b = b[n:]; f.Raw != nil {
				out = a.Append(out, f.Raw)
			}
		}
		out = a.Append(out, []byte(": a comment\n\ndata: {\"error\":{}}\n\n"))
		events, _, err := read(t, string(a.End(out)), nil, same)
		if err != nil || len(events) == 0 || events[len(events)-1] != `{"error":{}}` {
			t.Errorf("%q became %q: %v", stream, out, err)
		}
	}
}

// TestArrayIsSearchedOnce counts the bytes that are read again if an element comes in
// many pieces.
func TestArrayIsSearchedOnce(t *testing.T) {
	long := []byte(`[{"a":"` + strings.Repeat("x", 10_000))
	a := &array{}
	for n := range long {
		if _, _, err := a.Next(long[:n]); err != nil || a.looked != n {
			t.Fatalf("%v, looked at %d of %d bytes", err, a.looked, n)
		}
	}
}

func FuzzArray(f *testing.F) {
	for _, s := range streams {
		f.Add(s, 1)
	}
	f.Fuzz(func(t *testing.T, stream string, cut int) {
		whole, out, err := read(t, stream, nil, same)
		if err == nil && len(stream) <= maxTail && out != stream { // more white space at the end is not kept
			t.Fatalf("%q became %q", stream, out)
		}
		if cut < 0 || cut > len(stream) {
			return
		}
		events, again, err2 := read(t, stream, []int{cut}, same)
		if (err == nil) != (err2 == nil) || len(stream) <= maxTail && out != again || strings.Join(events, "|") != strings.Join(whole, "|") {
			t.Fatalf("%q cut at %d: %q, %q, %v, %v", stream, cut, out, again, err, err2)
		}
	})
}
