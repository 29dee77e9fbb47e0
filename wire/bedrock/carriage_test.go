package bedrock

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/wire"
)

// read gives a stream to a carriage in pieces that end at cuts, and returns the events
// and what a client gets if each is rewritten.
func read(t *testing.T, stream []byte, cuts []int, rewrite func(event string) string) (events []string, out []byte, err error) {
	t.Helper()
	c := &carriage{}
	var held []byte
	from := 0
	for _, to := range append(cuts, len(stream)) {
		held = append(held, stream[from:to]...)
		from = to
		for {
			n, f, err := c.Next(held)
			if err != nil {
				return events, out, err
			}
			if n == 0 {
				break
			}
			if got := string(f.Raw[f.At : f.At+len(f.Data)]); got != string(f.Data) {
				t.Fatalf("the data is %q, and the event has %q there", f.Data, got)
			}
			events = append(events, string(f.Raw))
			out = c.Append(out, []byte(rewrite(string(f.Raw))))
			held = bytes.Clone(held[n:])
		}
	}
	return events, c.End(out), c.Last(held)
}

func same(event string) string { return event }

func message(kind, name, payload string) []byte {
	names := map[string]string{"event": eventType, "exception": exceptionType, "error": errorCode}
	return appendMessage(nil, []string{names[kind], name, contentType, jsonType, messageType, kind}, []byte(payload))
}

// sample is a stream with each kind of message, headers of other types, and a payload
// of several lines.
func sample() []byte {
	b := message("event", "messageStart", `{"role":"assistant","p":"abc"}`)
	b = append(b, message("event", "contentBlockDelta", "{\n \"contentBlockIndex\": 0,\r\n \"delta\":{\"text\":\"é\\n\"}}")...)
	b = append(b, message("event", "unknown", "")...)
	b = append(b, withHeader(message("event", "contentBlockStop", `{"contentBlockIndex":0}`), append([]byte("\x01x"), typeLong, 1, 2, 3, 4, 5, 6, 7, 8))...)
	b = append(b, message("exception", "throttlingException", `{"message":"slow down"}`)...)
	return append(b, appendMessage(nil, []string{messageType, "error", errorCode, "InternalFailure", errorMessage, "a\nb"}, nil)...)
}

// withHeader puts a header before the others of a message.
func withHeader(m, header []byte) []byte {
	size := int(binary.BigEndian.Uint32(m[4:]))
	b := bytes.Clone(m[:preludeSize])
	b = append(append(b, header...), m[preludeSize:len(m)-4]...)
	binary.BigEndian.PutUint32(b, uint32(len(b)+4))
	binary.BigEndian.PutUint32(b[4:], uint32(size+len(header)))
	return seal(b)
}

// seal computes the checksums of a message, which has the place of the first.
func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[8:], crc32.ChecksumIEEE(b[:8]))
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

// TestMessages reads a stream cut at every byte: the events are the same, and what is
// unchanged goes out byte for byte.
func TestMessages(t *testing.T) {
	stream := sample()
	want := []string{
		"event: messageStart\ndata: {\"role\":\"assistant\",\"p\":\"abc\"}\n\n",
		"event: contentBlockDelta\ndata: {  \"contentBlockIndex\": 0,   \"delta\":{\"text\":\"é\\n\"}}\n\n",
		"event: unknown\ndata: {}\n\n",
		"event: contentBlockStop\ndata: {\"contentBlockIndex\":0}\n\n",
		"event: exception/throttlingException\ndata: {\"message\":\"slow down\"}\n\n",
		"event: error/InternalFailure\ndata: {\"message\":\"a\\nb\"}\n\n",
	}
	stream = append(stream, message("event", "x", "{\n\"a\":\"\xff\"}")...)
	want = append(want, "event: x\ndata: { \"a\":\"\xff\"}\n\n") // the bytes of a string stay
	for cut := range len(stream) + 1 {
		events, out, err := read(t, stream, []int{cut}, same)
		if err != nil || !bytes.Equal(out, stream) || strings.Join(events, "") != strings.Join(want, "") {
			t.Fatalf("cut at %d: %v, %q, %q", cut, err, events, out)
		}
	}
}

// TestRewritten holds that events which are dropped, doubled or put before others are
// read back as they were written.
func TestRewritten(t *testing.T) {
	const mine = "event: contentBlockDelta\ndata: {\"delta\":{\"text\":\"event: x\"}}\n\n"
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var wrote strings.Builder
		_, out, err := read(t, sample(), nil, func(event string) string {
			s := []string{"", event, ": a comment\n\n" + event, mine + event, event + mine}[rng.IntN(5)]
			wrote.WriteString(strings.ReplaceAll(s, ": a comment\n\n", ""))
			return s
		})
		events, _, err2 := read(t, out, nil, same)
		got := strings.ReplaceAll(strings.Join(events, ""), "exception/InternalFailure", "error/InternalFailure")
		if err != nil || err2 != nil || got != wrote.String() {
			t.Fatalf("%v, %v: %q\nwant %q", err, err2, got, wrote.String())
		}
	}
}

// TestBrokenMessages changes every byte of a message, cuts it everywhere, and checks
// lengths and headers that lie.
func TestBrokenMessages(t *testing.T) {
	m := message("event", "messageStop", `{"stopReason":"end_turn"}`)
	for i := range m {
		b := bytes.Clone(m)
		b[i] ^= 1
		if events, _, err := read(t, b, nil, same); !errors.Is(err, wire.ErrUnreadable) || len(events) > 0 {
			t.Errorf("byte %d changed: %v, %q", i, err, events)
		}
		if _, _, err := read(t, m[:i], nil, same); i > 0 && !errors.Is(err, errCut) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	prelude := func(total, headers uint32) []byte {
		b := make([]byte, preludeSize)
		binary.BigEndian.PutUint32(b, total)
		binary.BigEndian.PutUint32(b[4:], headers)
		return seal(b)
	}
	for name, b := range map[string][]byte{
		"too long": prelude(maxMessage+1, 0), "too short": prelude(frameSize-1, 0), "headers too long": prelude(maxMessage, maxHeaders+1),
		"headers beyond the message": prelude(frameSize+4, 5), "lengths that overflow": prelude(frameSize, 1<<32-1),
		"no type": appendMessage(nil, []string{eventType, "x"}, nil), "an unknown type": message("call", "x", ""), "no name": message("event", "", ""),
		"a name of two lines": message("event", "x\ndata: {}", ""), "a long name": message("event", strings.Repeat("x", maxName+1), ""),
		"a header twice":      appendMessage(nil, []string{messageType, "event", eventType, "x", eventType, "y"}, nil),
		"a name of bytes":     withHeader(appendMessage(nil, []string{messageType, "event"}, nil), append(append([]byte{11}, eventType...), typeBytes, 0, 1, 'x')),
		"a value beyond":      withHeader(message("event", "x", ""), append([]byte("\x01x"), typeString, 0xff, 0xff)),
		"an unknown value":    withHeader(message("event", "x", ""), []byte("\x01x\x0a")),
		"a header of no name": withHeader(message("event", "x", ""), []byte{0, typeTrue}),
		"a line in a string":  message("event", "x", "{\"a\":\"\n\"}"),
	} {
		if events, _, err := read(t, b, nil, same); !errors.Is(err, wire.ErrUnreadable) || len(events) > 0 {
			t.Errorf("%s: %v, %q", name, err, events)
		}
	}
}

// TestPreludeIsReadOnce holds that a message which comes in many pieces is not searched
// again with each.
func TestPreludeIsReadOnce(t *testing.T) {
	m := message("event", "x", `{"a":"`+strings.Repeat("x", 1000)+`"}`)
	c := &carriage{}
	if n, _, err := c.Next(m[:preludeSize]); n != 0 || err != nil || c.total != len(m) {
		t.Fatalf("%d, %v, %d", n, err, c.total)
	}
	for n := preludeSize; n < len(m); n++ {
		broken := append(make([]byte, preludeSize), m[preludeSize:n]...) // the prelude is not looked at again
		if took, _, err := c.Next(broken); took != 0 || err != nil {
			t.Fatalf("%d bytes: %d, %v", n, took, err)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(sample(), 7)
	f.Add(message("event", "x", "{}"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, cut int) {
		whole, out, err := read(t, stream, nil, same)
		if err == nil && !bytes.Equal(out, stream) {
			t.Fatalf("%q became %q", stream, out)
		}
		if cut < 0 || cut > len(stream) {
			return
		}
		events, again, err2 := read(t, stream, []int{cut}, same)
		if (err == nil) != (err2 == nil) || !bytes.Equal(out, again) || strings.Join(events, "|") != strings.Join(whole, "|") {
			t.Fatalf("%q cut at %d: %q, %v, %v", stream, cut, events, err, err2)
		}
	})
}
