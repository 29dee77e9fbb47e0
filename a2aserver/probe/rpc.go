package probe

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/internal/check/checks"
)

// checkRPC sends requests that the official client never would.
func (p *prober) checkRPC(ctx context.Context, url string) {
	for _, c := range []struct {
		name, version, body string
		code                int
	}{
		{"unknown method", "1.0", `{"jsonrpc":"2.0","id":1,"method":"NoSuchMethod","params":{}}`, -32601},
		{"broken JSON", "1.0", `{"jsonrpc":"2.0",`, -32700},
		{"unknown version", "99.0", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"x"}}`, -32009},
	} {
		code, err := p.rpc(ctx, url, c.version, c.body)
		if err != nil {
			p.note(c.name, Finding, "the answer is not JSON-RPC: "+checks.Plain(err))
			continue
		}
		p.expect(c.name, code == c.code, "the error is %d, not %d", code, c.code)
	}
}

func (p *prober) rpc(ctx context.Context, url, version, body string) (code int, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.Time)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("A2A-Version", version)
	res, err := p.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	var answer struct{ Error struct{ Code int } }
	err = json.NewDecoder(res.Body).Decode(&answer)
	return answer.Error.Code, err
}
