package things

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tidwall/gjson"
)

// What upstreams made is remembered by ids that servers give, the newest of them.
func TestMadeIDs(t *testing.T) {
	for id, want := range map[string]bool{"resp_12": false, "resp_123": true, "responses": false, strings.Repeat("a", 20): false, strings.Repeat("a", 21): true, strings.Repeat("1", 128): true, strings.Repeat("1", 129): false, "abc 12345": false, "abc/12345": false, "": false} {
		if isMadeID(id) != want {
			t.Errorf("%q is an id: %v", id, !want)
		}
	}
	m := NewMakers(2)
	for _, id := range []string{"file-0001", "file-0002", "short", "file-0002", "file-0003"} {
		m.Note(id, "up-"+id[len(id)-1:])
	}
	for id, want := range map[string]string{"file-0001": "", "file-0002": "up-2", "file-0003": "up-3", "short": ""} {
		if got := m.Find([]string{"unknown-1", id}); got != want {
			t.Errorf("%s was made by %q, want %q", id, got, want)
		}
	}
	m.Note("file-0002", "up-9")
	if got := m.Find([]string{"file-0003", "file-0002"}); got != "up-3" || m.Find([]string{"file-0002"}) != "up-9" || len(m.order) != 2 {
		t.Errorf("%s, of %v", got, m.order)
	}
	root := gjson.Parse(`{"id":"batches/123","name":5,"output_file_id":"f/","other":"x"}`)
	if got := fmt.Sprintf("%q", Given(root)); got != `["123" ""]` {
		t.Error(got)
	}
	if got := Given(gjson.Parse(`{"object":"conversation.response","conversation_id":"conv_0001"}`)); len(got) != 1 || got[0] != "conv_0001" {
		t.Error(got)
	}
	list := `["a",1,"b"]`
	if got := fmt.Sprint(stringsOf(gjson.Parse(list)), stringsOf(gjson.Parse(`"a"`)), stringsOf(gjson.Parse(`1`))); got != "[a b] [a] []" {
		t.Error(got)
	}
	many := stringsOf(gjson.Parse("[" + strings.Repeat(`"a",`, Most) + `"b"]`))
	if len(many) != Most {
		t.Errorf("%d strings", len(many))
	}
}

// A response that says what was made is read while it passes, if it is whole and not too long,
// and once.
func TestCreations(t *testing.T) {
	body := func(n int) string { return `{"id":"` + strings.Repeat("x", n-9) + `"}` }
	for _, c := range []struct {
		name string
		text string
		size int64
		want int
	}{
		{"whole", body(100), 100, 1}, {"of unknown length", body(100), -1, 1}, {"the longest", body(maxCreation), -1, 1}, {"the longest of known length", body(maxCreation), maxCreation, 1}, {"too long", body(maxCreation + 1), -1, 0}, {"longer than a read", body(3 * maxCreation), 3 * maxCreation, 0}, {"no object", "[1]", -1, 0}, {"not JSON", "x", -1, 0}, {"empty", "", 0, 0},
	} {
		for _, wrap := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader} {
			noted := 0
			r := &creation{ReadCloser: io.NopCloser(wrap(strings.NewReader(c.text))), size: c.size, note: func(root gjson.Result) {
				if noted++; len(root.Get("id").Str) != len(c.text)-9 {
					t.Errorf("%s: the id has %d bytes", c.name, len(root.Get("id").Str))
				}
			}}
			got, err := io.ReadAll(r)
			if err != nil || string(got) != c.text || noted != c.want || r.head != nil {
				t.Errorf("%s: %d bytes, %v, noted %d times", c.name, len(got), err, noted)
			}
		}
	}
	noted := 0
	r := &creation{ReadCloser: io.NopCloser(io.MultiReader(strings.NewReader(body(50)), iotest.ErrReader(io.ErrUnexpectedEOF))), size: -1, note: func(gjson.Result) { noted++ }}
	if _, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) || noted > 0 {
		t.Errorf("of a response that broke off: %v, noted %d times", err, noted)
	}
}

// The first event of a stream that has data says what was made, before the client has the end of it.
func TestStreamedCreations(t *testing.T) {
	event := func(n int) string {
		return "event: started\ndata: " + `{"id":"` + strings.Repeat("x", n) + `"}` + "\n\n"
	}
	later := event(3) + "data: {\"id\":\"later\"}\n\n"
	for _, c := range []struct {
		name, text string
		want       int // bytes of the id; 0 if nothing is noted
	}{
		{"an event", later, 3}, {"after comments", ": hi\n\n: hi\n\n" + later, 3}, {"lines of the other kind", strings.ReplaceAll(later, "\n", "\r\n"), 3},
		{"no object", "data: [DONE]\n\n" + later, 0}, {"an event without an end", "data: {\"id\":\"xxx\"}", 0}, {"the longest", event(maxCreation / 2), maxCreation / 2},
		{"too long", event(maxCreation), 0}, {"too many comments", strings.Repeat(": hi\n", maxCreation) + "\n" + later, 0}, {"a comment before one that is too long", ": hi\n\n" + event(2*maxCreation), 0},
	} {
		for _, wrap := range []func(io.Reader) io.Reader{func(r io.Reader) io.Reader { return r }, iotest.OneByteReader, iotest.DataErrReader} {
			noted := []int{}
			resp := &http.Response{Header: http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}, ContentLength: -1, Body: io.NopCloser(wrap(strings.NewReader(c.text)))}
			Read(resp, func(root gjson.Result) { noted = append(noted, len(root.Get("id").Str)) })
			got, err := io.ReadAll(resp.Body)
			if err != nil || string(got) != c.text || (c.want > 0) != (len(noted) == 1) || c.want > 0 && noted[0] != c.want {
				t.Errorf("%s: %d bytes, %v, noted %v", c.name, len(got), err, noted)
			}
		}
	}
}
