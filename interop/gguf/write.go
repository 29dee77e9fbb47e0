package gguf

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
)

// The shape of every file.
const (
	version       = 3
	alignment     = 32
	contextLength = 4096
	headSize      = 32 // of the only attention head
	feedForward   = 32
	gain          = 8 // weight of a successor in the output matrix
)

// Write writes the model of s as a GGUF file. It returns an error that wraps
// [ErrRepeated] if two cues or pieces are equal, and any error of w.
func Write(w io.Writer, s Script) error {
	v, err := s.compile()
	if err != nil {
		return fmt.Errorf("gguf: %w", err)
	}
	tensors := v.tensors()
	pairs := v.metadata(s.Name)

	e := &encoder{w: bufio.NewWriter(w)}
	e.bytes([]byte("GGUF"))
	e.uint32(version)
	e.uint64(uint64(len(tensors)))
	e.uint64(uint64(len(pairs)))
	for _, p := range pairs {
		e.string(p.key)
		e.value(p.value)
	}
	e.infos(tensors)
	e.pad()
	for _, t := range tensors {
		e.floats(t.data)
		e.pad()
	}
	if e.err == nil {
		e.err = e.w.Flush()
	}
	if e.err != nil {
		return fmt.Errorf("gguf: %w", e.err)
	}
	return nil
}

// A pair is one entry of the metadata. Its value is a uint32, float32, bool,
// string, []string or []int32.
type pair struct {
	key   string
	value any
}

func (v *vocabulary) metadata(name string) []pair {
	return []pair{
		{"general.architecture", "llama"},
		{"general.type", "model"},
		{"general.name", name},
		{"general.file_type", uint32(0)}, // all F32
		{"general.alignment", uint32(alignment)},
		{"llama.context_length", uint32(contextLength)},
		{"llama.embedding_length", uint32(v.width())},
		{"llama.block_count", uint32(1)},
		{"llama.feed_forward_length", uint32(feedForward)},
		{"llama.attention.head_count", uint32(1)},
		{"llama.attention.head_count_kv", uint32(1)},
		{"llama.attention.key_length", uint32(headSize)},
		{"llama.attention.value_length", uint32(headSize)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.dimension_count", uint32(headSize)},
		{"llama.vocab_size", uint32(len(v.texts))},
		{"tokenizer.ggml.model", "gpt2"},
		{"tokenizer.ggml.pre", "qwen2"},
		{"tokenizer.ggml.tokens", v.texts},
		{"tokenizer.ggml.token_type", v.kinds},
		{"tokenizer.ggml.merges", []string{}},
		{"tokenizer.ggml.bos_token_id", uint32(v.end)},
		{"tokenizer.ggml.eos_token_id", uint32(v.end)},
		{"tokenizer.ggml.padding_token_id", uint32(v.end)},
		{"tokenizer.ggml.add_bos_token", false},
		{"tokenizer.ggml.add_eos_token", false},
	}
}

// A tensor is F32 data of the given dimensions, the fastest-varying one first.
type tensor struct {
	name string
	dims []int
	data []float32
}

// width returns the size of the embedding: one column per token.
func (v *vocabulary) width() int {
	return (len(v.texts) + alignment - 1) / alignment * alignment
}

func (v *vocabulary) tensors() []tensor {
	d, n := v.width(), len(v.texts)
	return []tensor{
		{"token_embd.weight", []int{d, n}, v.embedding()},
		ones("blk.0.attn_norm.weight", d),
		zeros("blk.0.attn_q.weight", d, headSize),
		zeros("blk.0.attn_k.weight", d, headSize),
		zeros("blk.0.attn_v.weight", d, headSize),
		zeros("blk.0.attn_output.weight", headSize, d),
		ones("blk.0.ffn_norm.weight", d),
		zeros("blk.0.ffn_gate.weight", d, feedForward),
		zeros("blk.0.ffn_up.weight", d, feedForward),
		zeros("blk.0.ffn_down.weight", feedForward, d),
		ones("output_norm.weight", d),
		{"output.weight", []int{d, n}, v.successors()},
	}
}

func (v *vocabulary) embedding() []float32 {
	m := make([]float32, v.width()*len(v.texts))
	for t := range v.texts {
		m[t*v.width()+t] = 1
	}
	return m
}

func (v *vocabulary) successors() []float32 {
	m := make([]float32, v.width()*len(v.texts))
	for t, u := range v.next {
		m[u*v.width()+t] = gain
	}
	return m
}

func zeros(name string, columns, rows int) tensor {
	return tensor{name, []int{columns, rows}, make([]float32, columns*rows)}
}

func ones(name string, size int) tensor {
	data := make([]float32, size)
	for i := range data {
		data[i] = 1
	}
	return tensor{name, []int{size}, data}
}

// The types of a metadata value, as the specification numbers them.
const (
	typeUint32  = 4
	typeInt32   = 5
	typeFloat32 = 6
	typeBool    = 7
	typeString  = 8
	typeArray   = 9
)

// An encoder writes little-endian GGUF and keeps its first error.
type encoder struct {
	w   *bufio.Writer
	at  int // bytes written
	err error
}

func (e *encoder) bytes(p []byte) {
	if e.err != nil {
		return
	}
	n, err := e.w.Write(p)
	e.at, e.err = e.at+n, err
}

func (e *encoder) uint32(n uint32) { e.bytes(binary.LittleEndian.AppendUint32(nil, n)) }
func (e *encoder) uint64(n uint64) { e.bytes(binary.LittleEndian.AppendUint64(nil, n)) }

// string writes the length in bytes and the bytes.
func (e *encoder) string(s string) {
	e.uint64(uint64(len(s)))
	e.bytes([]byte(s))
}

func (e *encoder) floats(data []float32) {
	p := make([]byte, 0, 4*len(data))
	for _, x := range data {
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(x))
	}
	e.bytes(p)
}

// pad writes zeros up to the alignment.
func (e *encoder) pad() {
	e.bytes(make([]byte, padding(e.at)))
}

func padding(size int) int { return (alignment - size%alignment) % alignment }

// value writes a metadata value: its type, then the value.
func (e *encoder) value(value any) {
	switch x := value.(type) {
	case uint32:
		e.uint32(typeUint32)
		e.uint32(x)
	case float32:
		e.uint32(typeFloat32)
		e.uint32(math.Float32bits(x))
	case bool:
		e.uint32(typeBool)
		e.bytes([]byte{map[bool]byte{true: 1}[x]})
	case string:
		e.uint32(typeString)
		e.string(x)
	case []string:
		e.array(typeString, len(x))
		for _, s := range x {
			e.string(s)
		}
	case []int32:
		e.array(typeInt32, len(x))
		for _, n := range x {
			e.uint32(uint32(n))
		}
	default:
		panic(fmt.Sprintf("gguf: no metadata type for %T", value))
	}
}

func (e *encoder) array(elem uint32, size int) {
	e.uint32(typeArray)
	e.uint32(elem)
	e.uint64(uint64(size))
}

// infos describes each tensor and where its data begins, counted from the end of
// the padded header.
func (e *encoder) infos(tensors []tensor) {
	const f32 = 0
	offset := 0
	for _, t := range tensors {
		e.string(t.name)
		e.uint32(uint32(len(t.dims)))
		for _, d := range t.dims {
			e.uint64(uint64(d))
		}
		e.uint32(f32)
		e.uint64(uint64(offset))
		size := 4 * len(t.data)
		offset += size + padding(size)
	}
}
