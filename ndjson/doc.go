// Package ndjson finds the lines of a newline-delimited JSON stream in a buffer
// that grows. It is [github.com/sotto-llm/sotto/sse] for streams such as Ollama's.
//
// A [Line] is the bytes of a line as they came, with the value pointed out in
// them, so that what is not edited is sent on byte for byte.
//
//	var s ndjson.Scanner
//	for {
//		line, ok := s.Next(b)
//		if !ok {
//			break // read more behind b
//		}
//		out = append(out, line.Raw...)
//		b = b[len(line.Raw):]
//	}
//
// # Guarantees
//
//  1. Every byte of the stream is in the Raw of exactly one line, in order.
//     Where [Scanner.Last] says false, its Raw still holds the rest.
//  2. Where the stream is cut into reads changes nothing.
//  3. A line is given as soon as its LF is there.
//  4. A byte is sought through once, however often Next is called before the
//     line ends, but for the white space around a value.
//  5. A line costs no allocation.
//
// # Reading
//
// A line ends in LF. The white space around its value is that of JSON: space,
// tab and CR. A blank line is a line without data. What stands in a line is not
// checked to be JSON.
//
// # Ownership
//
// A line points into the buffer that was given and is valid as long as that is
// not changed. Its slices have no spare capacity: appending to one copies it. A
// Scanner is not safe for concurrent use.
//
// # Security
//
// A line has no bound here. The caller has one: where Next says false, all of the
// buffer is a single unfinished line.
//
// The format is https://github.com/ndjson/ndjson-spec.
package ndjson
