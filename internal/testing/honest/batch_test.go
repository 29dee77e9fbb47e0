package honest

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"sync"
)

// Batches by files, as OpenAI's API has them and vLLM's run-batch reads them
// (docs/features/batch... of vLLM: openai_batch.md): a line for each request, and a line
// for each reply.
type batches struct {
	mu    sync.Mutex
	lines []byte // of the last file
	done  bool   // a batch of them was made
}

// serveBatch answers the routes of files and batches.
func (s *server) serveBatch(w http.ResponseWriter, r *http.Request, data []byte) bool {
	s.batches.mu.Lock()
	defer s.batches.mu.Unlock()
	answer := object(nil)
	switch {
	case r.Method == "POST" && r.URL.Path == "/v1/files":
		r.Body = io.NopCloser(bytes.NewReader(data))
		file, _, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return true
		}
		s.batches.lines, _ = io.ReadAll(file)
		answer = object{"id": "file-in", "object": "file", "purpose": "batch", "bytes": len(s.batches.lines)}
	case r.Method == "POST" && r.URL.Path == "/v1/batches":
		s.batches.done = true
		answer = object{"id": "batch_1", "object": "batch", "status": "completed", "input_file_id": "file-in", "output_file_id": "file-out"}
	case r.URL.Path == "/v1/files/file-out/content" && s.batches.done:
		w.Header().Set("Content-Type", "application/jsonl")
		for l := range bytes.Lines(s.batches.lines) {
			w.Write(append(encode(s.batchLine(l)), '\n'))
		}
		return true
	default:
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(encode(answer))
	return true
}

// batchLine is the reply to a line.
func (s *server) batchLine(data []byte) object {
	var l struct {
		ID   string `json:"custom_id"`
		URL  string
		Body object
	}
	if json.Unmarshal(data, &l) != nil {
		return object{"error": object{"message": "not JSON"}}
	}
	a := apiOf(l.URL)
	q := s.read(a, l.Body)
	if q.refused != "" {
		return object{"id": "r", "custom_id": l.ID, "response": object{"status_code": 400, "body": object{"error": object{"message": q.refused}}}, "error": nil}
	}
	return object{"id": "r", "custom_id": l.ID, "error": nil, "response": object{"status_code": 200, "request_id": "q", "body": a.whole(s.family.model, s.replies(q))}}
}

// batch sends a request as a batch of one, and reads its results.
func (p *play) batch(q request, body object) *got {
	delete(body, "stream")
	var form bytes.Buffer
	m := multipart.NewWriter(&form)
	_ = m.WriteField("purpose", "batch")
	file, err := m.CreateFormFile("file", "in.jsonl")
	if err != nil {
		p.t.Fatal(err)
	}
	file.Write(append(encode(object{"custom_id": "1", "method": "POST", "url": named(q.API).path, "body": body}), '\n'))
	m.Close()
	up := p.send(q, "POST", "/v1/files", m.FormDataContentType(), form.Bytes())
	made := p.send(q, "POST", "/v1/batches", "application/json", encode(object{"input_file_id": "file-in", "endpoint": named(q.API).path, "completion_window": "24h"}))
	results := p.send(q, "GET", "/v1/files/file-out/content", "", nil)
	return hear(results.status, results.header, strings.Join([]string{up.body, made.body, results.body}, "\n"))
}
