package anthropic

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sotto-llm/sotto/wire"
)

// SetLimits implements [wire.LimitHeaders].
// https://docs.anthropic.com/en/api/rate-limits#response-headers
func (messages) SetLimits(h http.Header, left []wire.LimitLeft) {
	for _, l := range left {
		name := "Anthropic-Ratelimit-" + l.Limit
		h.Set(name+"-Limit", strconv.Itoa(l.Most))
		h.Set(name+"-Remaining", strconv.Itoa(l.Left))
		h.Set(name+"-Reset", time.Now().Add(l.Full).UTC().Format(time.RFC3339))
	}
}

var _ wire.LimitHeaders = messages{}
