package sse

import "bytes"

// Append appends an event to dst: its type, unless that is empty, and its data,
// with one data field for each line. A reader sees an LF wherever data has a line
// end of any kind, including one at its end. The type is a single line: its line
// ends are left out.
func Append(dst []byte, event string, data []byte) []byte {
	if event != "" {
		dst = append(dst, "event: "...)
		for i := range len(event) {
			if c := event[i]; c != '\n' && c != '\r' {
				dst = append(dst, c)
			}
		}
		dst = append(dst, '\n')
	}
	if bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0 {
		dst = append(append(dst, "data: "...), data...)
		return append(dst, "\n\n"...)
	}
	return append(appendLines(dst, "data: ", data), '\n')
}

// AppendComment appends a comment to dst, with one comment line for each line of
// text, and a blank line. The result is a frame of its own, which clients skip.
func AppendComment(dst []byte, text string) []byte {
	return append(appendLines(dst, ": ", text), '\n')
}

// appendLines appends the lines of text, each after head. There is at least one.
func appendLines[T string | []byte](dst []byte, head string, text T) []byte {
	dst = append(dst, head...)
	from := 0
	for i := 0; i < len(text); i++ {
		if text[i] != '\n' && text[i] != '\r' {
			continue
		}
		dst = append(append(append(dst, text[from:i]...), '\n'), head...)
		if text[i] == '\r' && i+1 < len(text) && text[i+1] == '\n' {
			i++
		}
		from = i + 1
	}
	return append(append(dst, text[from:]...), '\n')
}
