package access

import (
	"net/http"

	"github.com/sotto-llm/sotto/internal/base/faultname"
)

// decisive are the headers by which a server decides about a request. If one is there
// twice, this server and a proxy before it may go by different values.
var decisive = []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Authorization"}

// single reports whether a request has each deciding header at most once, and answers it
// if not.
func (c *Control) single(w http.ResponseWriter, r *http.Request) bool {
	for _, name := range decisive {
		if len(r.Header[name]) > 1 {
			c.refuse(w, r, faultname.HeaderRepeated, http.StatusBadRequest, "the request has the header "+name+" more than once")
			return false
		}
	}
	return true
}
