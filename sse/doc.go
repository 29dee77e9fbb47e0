// Package sse finds the events of a text/event-stream in a buffer that grows,
// and writes such events.
//
// It is made for a proxy: a [Frame] is the bytes of an event as they came, with
// its type and data pointed out in them, so that what is not edited is sent on
// byte for byte.
//
//	var s sse.Scanner
//	for {
//		f, ok := s.Next(b)
//		if !ok {
//			break // read more behind b
//		}
//		out = append(out, f.Raw...)
//		b = b[len(f.Raw):]
//	}
//
// # Guarantees
//
//  1. Every byte of the stream is in the Raw of exactly one frame, in order.
//     Where [Scanner.Last] says false, its Raw still holds the rest.
//  2. Where the stream is cut into reads changes neither Type nor Data, nor the
//     number of frames.
//  3. A frame is given as soon as the byte that ends it is there. A CR ends its
//     line at once; where it is the last byte of the buffer, an LF that comes
//     behind it begins the next frame's Raw and means nothing.
//  4. A byte is sought through once for LF and once for CR, however often Next
//     is called before the frame ends and however many frames the buffer holds.
//  5. A frame costs no allocation, but that the memory in which several data
//     fields are joined grows to the largest such frame.
//
// # Reading
//
// Lines end in LF, CR or CRLF, mixed as they come. A byte order mark is skipped
// where the stream begins with it. A blank line ends a frame: one behind another
// is a frame of its own, without data, so that a server's bare line ends are
// sent on as promptly as its comments. Field names are exact; a line without a
// colon is a field with an empty value; one space after the colon is skipped.
// The fields id and retry stay in Raw, unread. Bytes are not checked to be UTF-8.
//
// The standard differs in one point: it drops an event that the end of the stream
// leaves without a blank line. [Scanner.Last] gives it, and the caller decides.
//
// # Ownership
//
// A frame points into the buffer that was given and into the Scanner: it is valid
// until either is used again. Its slices have no spare capacity: appending to one
// copies it. A Scanner is not safe for concurrent use.
//
// # Security
//
// A frame has no bound here. The caller has one: where Next says false, all of
// the buffer is a single unfinished frame. [Append] and [AppendComment] can write
// no field but their own, whatever text they are given.
//
// The format is section 9.2 of the HTML standard,
// https://html.spec.whatwg.org/multipage/server-sent-events.html.
package sse
