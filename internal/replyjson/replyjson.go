// Package replyjson writes the reading of a reply as JSON: the object that
// sotto split prints.
package replyjson

import (
	"strconv"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/internal/jsontext"
)

// Append appends a reading as a JSON object. Without an id, it leaves that key
// out.
func Append(dst, id []byte, r *sotto.Reply) []byte {
	dst = append(dst, `{"v":1`...)
	if id != nil {
		dst = append(append(dst, `,"id":`...), id...)
	}
	dst = append(dst, `,"visible":`...)
	dst = jsontext.AppendString(dst, r.Visible())
	dst = appendStrings(append(dst, `,"reasoning":`...), r.Reasoning())
	dst = appendStrings(append(dst, `,"narration":`...), r.Narration())
	dst = append(dst, `,"segments":[`...)
	for i, s := range r.Segments {
		dst = jsontext.AppendComma(dst, i)
		dst = append(append(dst, `{"channel":"`...), s.Channel.String()...)
		dst = strconv.AppendInt(append(dst, `","start":`...), int64(s.Start), 10)
		dst = strconv.AppendInt(append(dst, `,"end":`...), int64(s.End), 10)
		dst = append(dst, '}')
	}
	dst = AppendDiagnostics(append(dst, "],"...), r.Diagnostics, r.Counts)
	dst = jsontext.AppendString(append(dst, `,"dialect":`...), r.Dialect)
	dst = jsontext.AppendString(append(dst, `,"start":`...), string(r.Start))
	return append(dst, '}')
}

// AppendDiagnostics appends the member diagnostics, and how many more there are.
func AppendDiagnostics(dst []byte, list []sotto.Diagnostic, counts sotto.Counts) []byte {
	dst = append(dst, `"diagnostics":[`...)
	for i, d := range list {
		dst = jsontext.AppendComma(dst, i)
		dst = append(append(dst, `{"code":"`...), d.Code...)
		dst = strconv.AppendInt(append(dst, `","offset":`...), int64(d.Offset), 10)
		if d.Reason != "" {
			dst = append(append(append(dst, `,"reason":"`...), d.Reason...), '"')
		}
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if more := counts.Total() - len(list); more > 0 {
		dst = strconv.AppendInt(append(dst, `,"more_diagnostics":`...), int64(more), 10)
	}
	return dst
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		dst = jsontext.AppendString(jsontext.AppendComma(dst, i), s)
	}
	return append(dst, ']')
}
