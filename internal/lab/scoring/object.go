package scoring

import (
	"strconv"

	"github.com/sotto-llm/sotto/answer"
	"github.com/sotto-llm/sotto/internal/data/jsontext"
)

// AppendExtraction appends an extraction as a JSON object that is not closed yet.
// Without an id, it leaves that key out.
func AppendExtraction(dst, id []byte, x answer.Extraction) []byte {
	dst = append(dst, `{"v":1`...)
	if id != nil {
		dst = append(append(dst, `,"id":`...), id...)
	}
	dst = jsontext.AppendString(append(dst, `,"candidate":`...), x.Candidate)
	dst = jsontext.AppendString(append(dst, `,"method":`...), x.Method)
	dst = AppendSpan(append(dst, `,"span":`...), x.Span)
	dst = jsontext.AppendString(append(dst, `,"status":`...), string(x.Status))
	dst = jsontext.AppendString(append(dst, `,"rules":`...), x.Rules)
	dst = append(dst, `,"attempts":[`...)
	for i, a := range x.Attempts {
		dst = appendAttempt(jsontext.AppendComma(dst, i), a)
	}
	return append(dst, ']')
}

func appendAttempt(dst []byte, a answer.Attempt) []byte {
	dst = jsontext.AppendString(append(dst, `{"method":`...), a.Method)
	dst = strconv.AppendInt(append(dst, `,"found":`...), int64(a.Found), 10)
	if a.Span != nil {
		dst = AppendSpan(append(dst, `,"span":`...), a.Span)
	}
	if a.Why != "" {
		dst = jsontext.AppendString(append(dst, `,"why":`...), a.Why)
	}
	return append(dst, '}')
}

// AppendSpan appends a span, or null if there is none.
func AppendSpan(dst []byte, s *answer.Span) []byte {
	if s == nil {
		return append(dst, "null"...)
	}
	dst = strconv.AppendInt(append(dst, '['), int64(s.Start), 10)
	dst = strconv.AppendInt(append(dst, ','), int64(s.End), 10)
	return append(dst, ']')
}

// AppendVerdict appends the members of a verdict.
func AppendVerdict(dst []byte, v answer.Verdict) []byte {
	dst = strconv.AppendBool(append(dst, `,"ok":`...), v.OK)
	dst = jsontext.AppendString(append(dst, `,"reason":`...), string(v.Reason))
	dst = jsontext.AppendString(append(dst, `,"detail":`...), v.Detail)
	return jsontext.AppendString(append(dst, `,"by":`...), v.By)
}
