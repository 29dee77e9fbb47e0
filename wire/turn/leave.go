package turn

import "slices"

// LeaveOut notes what the request has of some fields of its parts and tools, for a writer whose API has
// none of these fields and whose answer is the same without them. What the codec of the API itself has read
// is not among them.
func (q *Request) LeaveOut(api string, fields ...Field) {
	leave := func(e *Extra, of Field, is bool) {
		if is && e.API != api && slices.Contains(fields, of) {
			q.Leave(e.Path, of)
		}
	}
	for i := range q.Tools {
		t := &q.Tools[i]
		leave(&t.Extra, OfStrict, t.Strict != nil && *t.Strict)
	}
	for i := range q.Messages {
		for _, p := range q.Messages[i].Parts {
			leave(&p.Extra, OfDetail, p.Media.Detail != "" && p.Media.Detail != "auto")
			leave(&p.Extra, OfFailed, p.Failed)
			for k := range p.Results {
				r := &p.Results[k]
				leave(&r.Extra, OfDetail, r.Media.Detail != "" && r.Media.Detail != "auto")
			}
		}
	}
}
