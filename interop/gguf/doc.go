// Package gguf writes language models that say what a script tells them to.
//
// A [Script] becomes a file of about one megabyte that real engines load: a
// llama-architecture model of one layer, in GGUF version 3, F32. The model knows
// nothing; it is only a table. Tests run a real engine on it, with its real
// tokenizer, template, sampler and streaming. No weights are downloaded.
//
//	var cut gguf.Cutter
//	err := gguf.Write(f, gguf.Script{Name: "sums", Replies: []gguf.Reply{{
//		Cue:    "<|assistant|>",
//		Pieces: cut.Cut("<think>\n6 × 7</think>\n\nForty-two."),
//	}}})
//
// # How a table is a model
//
// Let V be the number of tokens and D be V rounded up to a multiple of 32.
//
//	token_embd.weight   V × D   row t is 1 at column t
//	blk.0.attn_*, ffn_*         zero, so that the residual stream is the embedding
//	*_norm.weight       D       one
//	output.weight       V × D   at row u, column t: 8 where u follows t, else 0
//
// The RMS norm scales the embedding of t to √D at column t. So the logit of the
// token that follows t is 8√D, about 140, and every other logit is 0. Greedy
// decoding and every usual sampler, with the usual penalties, take the same token.
// The next token depends only on the last one.
//
// # Tokens
//
// The tokenizer is byte-level BPE ("gpt2", split as "qwen2") without merges:
//
//	0 … 255   one token per byte, which is what prompts are made of
//	256       <|endoftext|>, the end of every reply
//	257 …     cues, which the tokenizer finds in a prompt as special tokens
//	then      the pieces of the replies, one token per position
//
// Because a token has one successor, the text of a piece occurs only once in a
// file. A repeated word must be cut in another place, which [Cutter] does.
//
// # Specifications
//
// GGUF version 3 (ggml, docs/gguf.md): the header, the types of the metadata,
// the standard keys of the llama architecture, the alignment of 32 bytes. The
// map from bytes to code points is that of GPT-2's encoder (bytes_to_unicode).
package gguf
