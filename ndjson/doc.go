// Package ndjson finds the lines of a newline-delimited JSON stream in a growing
// buffer. It does for streams such as Ollama's what
// [github.com/sotto-llm/sotto/sse] does for event streams.
//
// A [Line] is the bytes of a line as they came, with the value located in them, so
// that what is not edited is sent on byte for byte.
//
//	var s ndjson.Scanner
//	for {
//		line, ok := s.Next(b)
//		if !ok {
//			break // read more and append it to b
//		}
//		out = append(out, line.Raw...)
//		b = b[len(line.Raw):]
//	}
//
// # Guarantees
//
//  1. Every byte of the stream is in the Raw of exactly one line, in order.
//     If [Scanner.Last] returns false, its Raw still holds the rest.
//  2. Where the stream is cut into reads changes nothing.
//  3. A line is given as soon as its LF has come.
//  4. A byte is searched once, however often Next is called before the line ends,
//     except for the white space around a value.
//  5. A line costs no allocation.
//
// # Reading
//
// A line ends in LF. The white space around its value is that of JSON: space,
// tab and CR. A blank line is a line without data. The content of a line is not
// checked to be JSON.
//
// # Ownership
//
// A line points into the caller's buffer and is valid until that is changed. Its
// slices have no spare capacity: appending to one copies it. A Scanner is not safe
// for concurrent use.
//
// # Security
//
// This package does not bound the size of a line. The caller must: when Next
// returns false, all of the buffer is a single unfinished line.
//
// The format is https://github.com/ndjson/ndjson-spec.
package ndjson
