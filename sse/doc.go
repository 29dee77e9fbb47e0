// Package sse finds the events of a text/event-stream in a growing buffer, and
// writes such events.
//
// It is made for a proxy. A [Frame] is the bytes of an event as they came, with
// its type and data located in them, so that what is not edited is sent on byte
// for byte.
//
//	var s sse.Scanner
//	for {
//		f, ok := s.Next(b)
//		if !ok {
//			break // read more and append it to b
//		}
//		out = append(out, f.Raw...)
//		b = b[len(f.Raw):]
//	}
//
// # Guarantees
//
//  1. Every byte of the stream is in the Raw of exactly one frame, in order.
//     If [Scanner.Last] returns false, its Raw still holds the rest.
//  2. Where the stream is cut into reads does not change Type, Data or the number
//     of frames.
//  3. A frame is given as soon as the byte that ends it has come. A CR ends its
//     line at once. If it is the last byte of the buffer, an LF that comes after
//     it begins the next frame's Raw and means nothing.
//  4. A byte is searched once for LF and once for CR, however often Next is
//     called before the frame ends and however many frames the buffer holds.
//  5. A frame costs no allocation, except that the memory in which several data
//     fields are joined grows to the largest such frame.
//
// # Reading
//
// Lines end in LF, CR or CRLF, in any mixture. A byte order mark at the beginning
// of the stream is skipped. A blank line ends a frame. A further blank line is a
// frame of its own, without data, so that a server's bare line ends are sent on as
// promptly as its comments. Field names are exact. A line without a colon is a
// field with an empty value. One space after the colon is skipped. The fields id
// and retry stay in Raw and are not interpreted. Bytes are not checked to be UTF-8.
//
// The standard differs in one point: it drops an event that has no blank line
// after it when the stream ends. [Scanner.Last] gives it, and the caller decides.
//
// # Ownership
//
// A frame points into the caller's buffer and into the Scanner. It is valid until
// either is used again. Its slices have no spare capacity: appending to one copies
// it. A Scanner is not safe for concurrent use.
//
// # Security
//
// This package does not bound the size of a frame. The caller must: when Next
// returns false, all of the buffer is a single unfinished frame. [Append] and
// [AppendComment] write only their own fields, whatever text they are given.
//
// The format is section 9.2 of the HTML standard,
// https://html.spec.whatwg.org/multipage/server-sent-events.html.
package sse
