package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"

	"github.com/sotto-llm/sotto/interop/gguf"
)

// Create writes the model's file, gives it to the server and names it. An existing
// model with that name is replaced.
func (s *Server) Create(ctx context.Context, m Model) error {
	var file bytes.Buffer
	if err := gguf.Write(&file, m.Script); err != nil {
		return fmt.Errorf("create %s: %w", m.Name, err)
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(file.Bytes()))
	if err := s.post(ctx, "/api/blobs/"+digest, file.Bytes()); err != nil {
		return fmt.Errorf("create %s: %w", m.Name, err)
	}
	body, err := json.Marshal(map[string]any{
		"model":      m.Name,
		"files":      map[string]string{"model.gguf": digest},
		"template":   m.Template,
		"parameters": oneThread(m.Parameters),
		"stream":     false,
	})
	if err != nil {
		return fmt.Errorf("create %s: %w", m.Name, err)
	}
	if err := s.post(ctx, "/api/create", body); err != nil {
		return fmt.Errorf("create %s: %w", m.Name, err)
	}
	return nil
}

// oneThread adds to the parameters that the engine uses one thread. Several threads
// wait for each other in a busy loop, which is slow if the cores are shared.
func oneThread(parameters map[string]any) map[string]any {
	all := map[string]any{"num_thread": 1}
	maps.Copy(all, parameters)
	return all
}

// post sends body and requires a status of success.
func (s *Server) post(ctx context.Context, path string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s: %s", path, res.Status, said)
	}
	return nil
}
