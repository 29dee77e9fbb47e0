package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// A file is what the tests read back, following the specification and not the code
// under test.
type file struct {
	meta    map[string]any
	tensors map[string]tensor
}

// A decoder reads little-endian GGUF and panics at its end.
type decoder struct {
	p  []byte
	at int
}

func (d *decoder) take(n int) []byte {
	d.at += n
	return d.p[d.at-n : d.at]
}

func (d *decoder) uint32() uint32 { return binary.LittleEndian.Uint32(d.take(4)) }
func (d *decoder) uint64() uint64 { return binary.LittleEndian.Uint64(d.take(8)) }
func (d *decoder) string() string { return string(d.take(int(d.uint64()))) }

func (d *decoder) value(kind uint32) any {
	switch kind {
	case 4:
		return d.uint32()
	case 5:
		return int32(d.uint32())
	case 6:
		return math.Float32frombits(d.uint32())
	case 7:
		return d.take(1)[0] != 0
	case 8:
		return d.string()
	case 9:
		kind, list := d.uint32(), []any{}
		for range d.uint64() {
			list = append(list, d.value(kind))
		}
		return list
	}
	panic(fmt.Sprintf("metadata of type %d at %d", kind, d.at))
}

func read(p []byte) (f file, err error) {
	d := &decoder{p: p}
	if magic, version := string(d.take(4)), d.uint32(); magic != "GGUF" || version != 3 {
		return f, fmt.Errorf("begins with %q, version %d", magic, version)
	}
	f = file{map[string]any{}, map[string]tensor{}}
	tensors, pairs := d.uint64(), d.uint64()
	for range pairs {
		key := d.string()
		f.meta[key] = d.value(d.uint32())
	}
	var infos []info
	for range tensors {
		infos = append(infos, d.info())
	}
	base := up(d.at)
	for _, in := range infos {
		f.tensors[in.name] = d.tensor(base, in)
		if in.offset%32 != 0 {
			return f, fmt.Errorf("%s is at %d", in.name, in.offset)
		}
	}
	if up(d.at) != len(p) {
		return f, fmt.Errorf("%d bytes, of which %d are used", len(p), d.at)
	}
	return f, nil
}

func up(n int) int { return (n + 31) / 32 * 32 }

type info struct {
	name   string
	dims   []int
	offset int
}

func (d *decoder) info() (in info) {
	in.name = d.string()
	for range d.uint32() {
		in.dims = append(in.dims, int(d.uint64()))
	}
	if kind := d.uint32(); kind != 0 {
		panic(fmt.Sprintf("%s has type %d", in.name, kind))
	}
	in.offset = int(d.uint64())
	return in
}

func (d *decoder) tensor(base int, in info) tensor {
	size := 1
	for _, n := range in.dims {
		size *= n
	}
	d.at = base + in.offset
	t := tensor{in.name, in.dims, make([]float32, size)}
	for i := range t.data {
		t.data[i] = math.Float32frombits(d.uint32())
	}
	return t
}

// reply decodes greedily after a prompt, like a llama engine whose layer adds
// nothing.
func (f file) reply(prompt string) string {
	tokens := f.meta["tokenizer.ggml.tokens"].([]any)
	end := int(f.meta["tokenizer.ggml.eos_token_id"].(uint32))
	var said strings.Builder
	for t := f.last(prompt); ; {
		t = f.next(t)
		if t == end || said.Len() > 1000 {
			return said.String()
		}
		said.WriteString(decodeBytes(tokens[t].(string)))
	}
}

// last returns the last token of a prompt: the longest cue at its end, or the
// last byte.
func (f file) last(prompt string) int {
	kinds := f.meta["tokenizer.ggml.token_type"].([]any)
	id, size := int(prompt[len(prompt)-1]), 0
	for t, text := range f.meta["tokenizer.ggml.tokens"].([]any) {
		text := text.(string)
		if kinds[t] == int32(4) && len(text) > size && strings.HasSuffix(prompt, text) {
			id, size = t, len(text)
		}
	}
	return id
}

// next returns the token with the greatest logit after t.
func (f file) next(t int) (best int) {
	embed, out := f.tensors["token_embd.weight"], f.tensors["output.weight"]
	d := embed.dims[0]
	x := norm(embed.data[t*d : t*d+d])
	top := math.Inf(-1)
	for u := range out.dims[1] {
		sum := 0.0
		for i, w := range out.data[u*d : u*d+d] {
			sum += float64(w) * x[i]
		}
		if sum > top {
			best, top = u, sum
		}
	}
	return best
}

// norm is the RMS norm, with weight one.
func norm(x []float32) []float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v) / math.Sqrt(sum/float64(len(x))+1e-5)
	}
	return out
}

// decodeBytes reverses GPT-2's map of bytes to code points. Printable Latin-1 code
// points stand for themselves. The others are numbered from U+0100.
func decodeBytes(text string) string {
	var out []byte
	for _, r := range text {
		switch {
		case r < 0x100:
			out = append(out, byte(r))
		case r < 0x121: // 00 … 20
			out = append(out, byte(r-0x100))
		case r < 0x143: // 7F … A0
			out = append(out, byte(r-0x121+0x7F))
		default: // AD
			out = append(out, 0xAD)
		}
	}
	return string(out)
}
