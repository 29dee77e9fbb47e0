package sse_test

import "strings"

// A refEvent is an event as a client sees it.
type refEvent struct{ typ, data string }

// A refFrame is the text between two blank lines.
type refFrame struct {
	end   int       // after the blank line, including its whole CRLF
	event *refEvent // nil if the standard dispatches no event
	typ   string    // the event type buffer
}

// A refReader follows section 9.2.6 of the HTML standard, "Interpreting an event
// stream", sentence by sentence, for a whole stream.
type refReader struct {
	dataBuffer, eventTypeBuffer string
	frames                      []refFrame
}

// readReference reads a stream. It returns the frames that a blank line ends, and
// the rest at the end of the stream: where the rest begins and what was read of it.
func readReference(stream string) (frames []refFrame, rest refFrame) {
	var r refReader
	i := 0
	// "[decoding] strips one leading U+FEFF BYTE ORDER MARK (BOM), if any"
	if strings.HasPrefix(stream, "\xEF\xBB\xBF") {
		i = 3
	}
	line := ""
	for i < len(stream) {
		// "Lines must be separated by either a U+000D CARRIAGE RETURN U+000A LINE
		// FEED (CRLF) character pair, a single U+000A LINE FEED (LF) character,
		// or a single U+000D CARRIAGE RETURN (CR) character."
		switch {
		case stream[i] == '\r' && i+1 < len(stream) && stream[i+1] == '\n':
			i += 2
		case stream[i] == '\n', stream[i] == '\r':
			i++
		default:
			line += stream[i : i+1]
			i++
			continue
		}
		r.process(line, i)
		line = ""
	}
	// "Once the end of the file is reached, any pending data must be discarded":
	// here it is the rest, with its last line ended and a blank line after it.
	n := len(r.frames)
	if line != "" {
		r.process(line, len(stream))
	}
	r.process("", len(stream))
	return r.frames[:n], r.frames[n]
}

func (r *refReader) process(line string, end int) {
	// "If the line is empty (a blank line): Dispatch the event, as defined below."
	if line == "" {
		r.dispatch(end)
		return
	}
	// "If the line starts with a U+003A COLON character (:): Ignore the line."
	if line[0] == ':' {
		return
	}
	// "If the line contains a U+003A COLON character (:)": "Collect the characters
	// on the line before the first U+003A COLON character (:), and let field be
	// that string. Collect the characters on the line after the first U+003A COLON
	// character (:), and let value be that string. If value starts with a U+0020
	// SPACE character, remove it from value."
	if i := strings.Index(line, ":"); i >= 0 {
		field, value := line[:i], line[i+1:]
		if value != "" && value[0] == ' ' {
			value = value[1:]
		}
		r.field(field, value)
		return
	}
	// "Otherwise: […] using the whole line as the field name, and the empty string
	// as the field value."
	r.field(line, "")
}

func (r *refReader) field(name, value string) {
	switch name {
	case "event": // "Set the event type buffer to the field value."
		r.eventTypeBuffer = value
	case "data": // "Append the field value to the data buffer, then append a single
		// U+000A LINE FEED (LF) character to the data buffer."
		r.dataBuffer += value + "\n"
	}
}

func (r *refReader) dispatch(end int) {
	f := refFrame{end: end, typ: r.eventTypeBuffer}
	// "If the data buffer is an empty string, set the data buffer and the event
	// type buffer to the empty string and return."
	if r.dataBuffer != "" {
		// "If the data buffer's last character is a U+000A LINE FEED (LF)
		// character, then remove the last character from the data buffer."
		f.event = &refEvent{typ: r.eventTypeBuffer, data: strings.TrimSuffix(r.dataBuffer, "\n")}
	}
	// "Set the data buffer and the event type buffer to the empty string."
	r.dataBuffer, r.eventTypeBuffer = "", ""
	r.frames = append(r.frames, f)
}
