package schema

import (
	"net/http"
	"strconv"
	"time"

	"github.com/sotto-llm/sotto/wire"
)

// SetLimits sets the headers of a client's limits.
// https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers
func SetLimits(h http.Header, left []wire.LimitLeft) {
	for _, l := range left {
		h.Set("X-Ratelimit-Limit-"+l.Limit, strconv.Itoa(l.Most))
		h.Set("X-Ratelimit-Remaining-"+l.Limit, strconv.Itoa(l.Left))
		h.Set("X-Ratelimit-Reset-"+l.Limit, l.Full.Round(time.Millisecond).String())
	}
}
