package responses_test

import (
	"errors"
	"testing"

	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/openai/responses"
)

// A stream that ends with an event of failure is not a whole reply; one that was cut
// is.
func TestFailed(t *testing.T) {
	for data, failed := range map[string]bool{
		`{"type":"response.failed","response":{"output":[]}}`:                                                         true,
		`{"type":"response.failed","response":{"status":"failed","error":{"code":"server_error"},"output":[]}}`:       true,
		`{"type":"response.completed","response":{"status":"failed","output":[]}}`:                                    true,
		`{"type":"error","code":"server_error"}`:                                                                      true,
		`{"type":"response.completed","response":{"status":"completed","output":[]}}`:                                 false,
		`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"},"output":[]}}`: false,
	} {
		y, r := responses.Codec.Reply(wire.Settings{}), &failing{reader: newReader("")}
		out := y.Frame(nil, wire.Frame{Raw: []byte("data: " + data + "\n\n"), Data: []byte(data), At: 6}, r)
		out = y.End(out, nil, r)
		if errors.Is(r.err, wire.ErrUpstream) != failed || !failed && r.err != nil {
			t.Errorf("%s: %v", data, r.err)
		}
		if want := "data: " + data + "\n\n"; string(out) != want {
			t.Errorf("%s: came out as %s", data, out)
		}

		y, r = responses.Codec.Reply(wire.Settings{Written: true}), &failing{reader: newReader("")}
		out = y.Frame(nil, wire.Frame{Raw: []byte("data: " + data + "\n\n"), Data: []byte(data), At: 6}, r)
		client := readStream(t, string(y.End(out, nil, r)))
		if errors.Is(r.err, wire.ErrUpstream) != failed || !failed && r.err != nil || (client.err != nil || client.final["status"] == "failed") != failed {
			t.Errorf("%s, written: %v, %v %v", data, r.err, client.err, client.final)
		}
	}
	const body = `{"status":"failed","error":{"code":"server_error","message":"m"},"output":[]}`
	r := &failing{reader: newReader("")}
	whole := wholeResponse(t, wire.Settings{Written: true}, r, body)
	if fault, _ := whole["error"].(map[string]any); r.err != nil || whole["status"] != "failed" || fault["message"] != "m" {
		t.Errorf("%v, %v", r.err, whole)
	}
	for _, body := range []string{`{}`, `{"output":"a"}`, `{"choices":[]}`} {
		r := &failing{reader: newReader("")}
		responses.Codec.Reply(wire.Settings{Written: true}).Whole(nil, []byte(body), r)
		if !errors.Is(r.err, wire.ErrUnreadable) {
			t.Errorf("%s: %v", body, r.err)
		}
	}
}
