package sotto

import (
	"strconv"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// MarshalJSON returns the object that sotto split prints: "v", which is 1, "visible",
// "reasoning" and "narration" as lists of texts, "segments" with their places in bytes,
// "diagnostics", "more_diagnostics" where not all are listed, "dialect" and "start". Raw
// and End are not in it: whoever has the reply has them.
func (r Reply) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

// AppendJSON appends the object of [Reply.MarshalJSON].
func (r *Reply) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"v":1,"visible":`...)
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
	dst = append(dst, `],"diagnostics":[`...)
	for i, d := range r.Diagnostics {
		dst = jsontext.AppendComma(dst, i)
		dst = append(append(dst, `{"code":"`...), d.Code...)
		dst = strconv.AppendInt(append(dst, `","offset":`...), int64(d.Offset), 10)
		if d.Reason != "" {
			dst = append(append(append(dst, `,"reason":"`...), d.Reason...), '"')
		}
		dst = append(dst, '}')
	}
	dst = append(dst, ']')
	if more := r.Counts.Total() - len(r.Diagnostics); more > 0 {
		dst = strconv.AppendInt(append(dst, `,"more_diagnostics":`...), int64(more), 10)
	}
	dst = jsontext.AppendString(append(dst, `,"dialect":`...), r.Dialect)
	dst = jsontext.AppendString(append(dst, `,"start":`...), string(r.Start))
	return append(dst, '}')
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, s := range list {
		dst = jsontext.AppendString(jsontext.AppendComma(dst, i), s)
	}
	return append(dst, ']')
}
