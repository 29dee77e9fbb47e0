package endpoints

import (
	"net/http"
	"strings"

	"github.com/sotto-llm/sotto/wire"
)

// UpgradesTo returns the endpoint whose API a request wants to speak over a WebSocket,
// if the gateway reads that.
func UpgradesTo(r *http.Request) (Found, bool) {
	if r.Method != http.MethodGet || !AsksWebSocket(r) || r.Header.Get("Sec-Websocket-Version") != "13" {
		return Found{}, false
	}
	f, err := Find(r.URL, func(e *Endpoint) bool { return e.Takes(http.MethodPost) })
	if err != nil || f.Kind != Replies {
		return Found{}, false
	}
	if _, ok := f.Codec.(wire.SocketCodec); !ok {
		return Found{}, false
	}
	f.Kind = Socketed
	return f, true
}

// AsksWebSocket reports whether a request asks for a WebSocket, and for nothing else.
func AsksWebSocket(r *http.Request) bool {
	asked := r.Header["Upgrade"]
	return len(asked) == 1 && strings.EqualFold(asked[0], "websocket") && ListHas(r.Header["Connection"], "upgrade")
}

// ListHas reports whether a header whose value is a list contains a word.
func ListHas(values []string, word string) bool {
	for _, v := range values {
		for item := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(item), word) {
				return true
			}
		}
	}
	return false
}
