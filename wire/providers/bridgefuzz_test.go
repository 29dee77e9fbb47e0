package providers_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sotto-llm/sotto/internal/base/effort"
	"github.com/sotto-llm/sotto/internal/data/foreignjson"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/providers"
)

// What a bridged reply may be larger than the upstream's: by a factor, and by what every reply has.
const (
	bridgeFactor = 16
	bridgeRest   = 8 << 10
)

// FuzzBridge: whatever an upstream sends in its API, the client gets frames of its own API that are whole, and no
// more of them than the upstream's bytes allow.
func FuzzBridge(f *testing.F) {
	apis := providers.APIs()
	for i, from := range apis {
		for seed := range uint64(4) {
			batches, _ := events(rand.New(rand.NewPCG(seed, 7)), true)
			f.Add(uint8(i), uint8(seed), replyOf(from.Codec, batches, true), replyOf(from.Codec, batches, false))
		}
	}
	f.Add(uint8(0), uint8(1), []byte("data: {\"choices\":[{\"index\":9,\"delta\":{\"tool_calls\":[{\"index\":-5,\"function\":{}}]}}]}\n\n"), []byte(`{"choices":[{}]}`))
	f.Fuzz(func(t *testing.T, from, to uint8, stream, whole []byte) {
		upstream := apis[int(from)%len(apis)].Codec
		for i := range apis {
			if client := apis[(int(to)+i)%len(apis)]; client.Codec != upstream {
				crossHostile(t, apis[int(from)%len(apis)], client, stream, whole)
			}
		}
	})
}

// crossHostile brings what an upstream sent to a client of another API, streamed and whole, and checks what the client gets.
func crossHostile(t *testing.T, from, to providers.API, stream, whole []byte) {
	t.Helper()
	upstream, client := from.Codec, to.Codec
	through := &hearer{args: map[int]int{}}
	y := upstream.Reply(bridgedTo(upstream, client, true))
	out := feed(upstream, y, stream, through)
	if limit := bridgeFactor*len(stream) + bridgeRest; len(out) > limit {
		t.Errorf("%s to %s: %d bytes of %d", from.Name, to.Name, len(out), len(stream))
	}
	left := len(out)
	for frame := range frames(client, out) {
		if left -= len(frame.Raw); frame.Data != nil && string(frame.Data) != "[DONE]" && !foreignjson.Valid(frame.Data) {
			t.Fatalf("%s to %s: %q\nof %q", from.Name, to.Name, frame.Raw, stream)
		}
	}
	if left != 0 {
		t.Fatalf("%s to %s: the stream ends inside a frame: %q", from.Name, to.Name, out)
	}
	if said := wrong(to, out); said != "" {
		t.Fatalf("%s to %s: %s\n%s\nof %s", from.Name, to.Name, said, out, stream)
	}
	if said := completeCalls(to, out); said != "" {
		t.Fatalf("%s to %s: %s\n%s\nof %s", from.Name, to.Name, said, out, stream)
	}
	if held := wire.Held(y); held > bridgeFactor*len(stream)+bridgeRest {
		t.Errorf("%s to %s: it holds %d bytes of %d", from.Name, to.Name, held, len(stream))
	}
	if foreignjson.Check(whole) != nil {
		return
	}
	h := &hearer{args: map[int]int{}}
	out = upstream.Reply(bridgedTo(upstream, client, false)).Whole(nil, whole, h)
	if h.failure == nil && !foreignjson.Valid(out) {
		t.Fatalf("%s to %s: %q\nof %q", from.Name, to.Name, out, whole)
	}
	if limit := bridgeFactor*len(whole) + bridgeRest; len(out) > limit {
		t.Errorf("%s to %s: a body of %d bytes of %d", from.Name, to.Name, len(out), len(whole))
	}
}

// hostile makes one of the values that a member may have in place of its own. Each call makes its own, for spoil writes
// into what it is given.
func hostile(r *rand.Rand) any {
	values := []any{nil, true, -1.0, 0.0, 7.0, 1e300, "", " ", "x", "\n\n", "data: x", []any{}, map[string]any{}, []any{nil}, map[string]any{"type": "x"}, "{\"a\":", "}", "tool_use", "text", "stop", 4097.0}
	return values[r.IntN(len(values))]
}

// spoil changes one value of a document, takes it away or puts it there twice.
func spoil(r *rand.Rand, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if names := slices.Sorted(maps.Keys(v)); len(names) > 0 && r.IntN(8) > 0 {
			name := names[r.IntN(len(names))]
			if v[name] = spoil(r, v[name]); r.IntN(6) == 0 {
				delete(v, name)
			}
			return v
		}
	case []any:
		if len(v) > 0 && r.IntN(8) > 0 {
			i := r.IntN(len(v))
			if v[i] = spoil(r, v[i]); r.IntN(6) == 0 {
				v = append(v, v[i])
			}
			return v
		}
	}
	return hostile(r)
}

// spoiled is a stream with frames that are changed, lost, moved or there twice.
func spoiled(r *rand.Rand, c wire.Codec, stream []byte) []byte {
	var list [][]byte
	for f := range frames(c, stream) {
		raw := slices.Clone(f.Raw)
		var v any
		if r.IntN(6) == 0 && json.Unmarshal(f.Data, &v) == nil {
			data, _ := json.Marshal(spoil(r, v))
			raw = slices.Concat(raw[:f.At], data, raw[f.At+len(f.Data):])
		}
		switch list = append(list, raw); r.IntN(24) {
		case 0:
			list = append(list, raw)
		case 1:
			list = list[:len(list)-1]
		case 2:
			i := r.IntN(len(list))
			list[i], list[len(list)-1] = list[len(list)-1], list[i]
		}
	}
	return slices.Concat(list...)
}

// TestBridgeHostile: replies that are nearly right, as hostile and broken servers send them, reach every client in a form
// that a strict reader takes.
func TestBridgeHostile(t *testing.T) {
	apis := providers.APIs()
	for _, from := range apis {
		t.Run(from.Name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(150 * effort.Times()) {
				r := rand.New(rand.NewPCG(seed, 17))
				told := taleOf(r)
				stream, whole := spoiled(r, from.Codec, across(t, apis[0], from, told.stream, true)), across(t, apis[0], from, told.whole, false)
				var v any
				if err := json.Unmarshal(whole, &v); err != nil {
					t.Fatal(err)
				}
				for range 1 + r.IntN(3) {
					v = spoil(r, v)
				}
				whole, _ = json.Marshal(v)
				for _, to := range apis {
					if to.Name != from.Name {
						crossHostile(t, from, to, stream, whole)
					}
				}
			}
		})
	}
}

// TestBridgeGrowth: however short an upstream's frames are, and whatever the first of them says for the others to
// repeat, the client's are larger by the stated factor at most.
func TestBridgeGrowth(t *testing.T) {
	long := strings.Repeat("n", 5000)
	short := map[string]struct{ begin, piece string }{
		"chat":      {`data: {"id":"` + long + `","model":"` + long + `"}` + "\n\n", `data: {"choices":[{"delta":{"content":"\u0001"}}]}` + "\n\n"},
		"ollama":    {`{"model":"` + long + `"}` + "\n", `{"message":{"content":"\u0001"}}` + "\n"},
		"gemini":    {`data: {"responseId":"` + long + `","modelVersion":"` + long + `"}` + "\n\n", `data: {"candidates":[{"content":{"parts":[{"text":"\u0001"}]}}]}` + "\n\n"},
		"messages":  {`data: {"type":"message_start","message":{"id":"` + long + `","model":"` + long + `"}}` + "\n\n", `data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"\u0001"}}` + "\n\n"},
		"bedrock":   {"event: messageStart\ndata: {}\n\n", "event: contentBlockDelta\ndata: {\"delta\":{\"text\":\"\\u0001\"}}\n\n"},
		"cohere":    {`data: {"type":"message-start","id":"` + long + `"}` + "\n\n", `data: {"type":"content-delta","delta":{"message":{"content":{"text":"\u0001"}}}}` + "\n\n"},
		"responses": {`data: {"type":"response.created","response":{"id":"` + long + `","model":"` + long + `"}}` + "\n\n", `data: {"type":"response.output_text.delta","delta":"\u0001"}` + "\n\n"},
	}
	most := 0.0
	for _, from := range providers.APIs() {
		stream := []byte(short[from.Name].begin + strings.Repeat(short[from.Name].piece, 3000))
		for _, to := range providers.APIs() {
			if from.Name == to.Name {
				continue
			}
			out := feed(from.Codec, from.Codec.Reply(bridgedTo(from.Codec, to.Codec, true)), stream, &passer{})
			if grew := float64(len(out)) / float64(len(stream)); grew > bridgeFactor {
				t.Errorf("%s to %s: %d bytes of %d", from.Name, to.Name, len(out), len(stream))
			} else {
				most = max(most, grew)
			}
		}
	}
	t.Logf("a stream grows %.1f times", most)
}
