package displays

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/tidwall/gjson"
)

// looping has a scripted model call the tool again until it has as many results as it wants, and answer
// later questions at once. The model still reads the whole request, and refuses it if it is not its own.
func looping(model http.Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		play := func(w http.ResponseWriter, body []byte) {
			again := r.Clone(r.Context())
			again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
			model.ServeHTTP(w, again)
		}
		list, results, last := resultsOf(body)
		var q map[string]any
		switch {
		case results == 0 || last && results >= Calls || json.Unmarshal(body, &q) != nil:
			play(w, body)
			return
		case last: // as if it had none yet; what it sees once makes its ids
			q[list], q["round"] = q[list].([]any)[:1], results
		default:
			for _, tools := range []string{"tools", "toolConfig"} {
				delete(q, tools)
			}
		}
		judged := httptest.NewRecorder()
		if play(judged, body); judged.Code != http.StatusOK {
			w.Header().Set("Content-Type", judged.Header().Get("Content-Type"))
			w.WriteHeader(judged.Code)
			_, _ = w.Write(judged.Body.Bytes())
			return
		}
		changed, err := json.Marshal(q)
		if err != nil {
			return
		}
		play(w, changed)
	}
}

// resultsOf returns the member of a request that lists its messages, how many results of tools it has, and
// whether the last message has one.
func resultsOf(body []byte) (list string, n int, last bool) {
	for _, list = range []string{"messages", "contents", "input"} {
		all := gjson.GetBytes(body, list)
		if !all.IsArray() {
			continue
		}
		for _, m := range all.Array() {
			last = m.Get("role").Str == "tool" || m.Get("type").Str == "function_call_output"
			for _, part := range append(m.Get("content").Array(), m.Get("parts").Array()...) {
				last = last || part.Get("type").Str == "tool_result" || part.Get("toolResult").Exists() || part.Get("functionResponse").Exists()
			}
			if last {
				n++
			}
		}
		return list, n, last
	}
	return list, 0, false
}
