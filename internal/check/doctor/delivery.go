package doctor

import (
	"fmt"
	"strings"
	"time"

	"github.com/sotto-llm/sotto/internal/base/shorttext"
	"github.com/sotto-llm/sotto/internal/check/checks"
)

// How a stream looks whose pieces were collected on the way: many pieces, all within a
// moment, after a long silence. A shorter or quicker stream does not tell.
const (
	manyPieces = 20
	longWait   = 500 * time.Millisecond
	perPiece   = time.Millisecond // quicker than models write
)

// judgeDelivery says whether something between holds streams back.
func (d *diagnosis) judgeDelivery() {
	d.report.Between = between(d.asked)
	seen := ""
	if len(d.report.Between) > 0 {
		seen = "; the headers show " + strings.Join(d.report.Between, ", ")
	}
	for _, a := range d.asked {
		if !a.way.stream || a.way.tools || a.reply == nil || a.reply.Fault != "" {
			continue
		}
		first, last, reads := a.response.Times()
		judged := delivery(a.reply.Pieces, reads, first, last)
		judged.detail += seen
		d.found("delivery", judged)
		return
	}
	d.note("delivery", checks.Skipped, "no stream came, so whether something between holds streams back is not known"+seen, "")
}

// delivery judges a stream by its pieces, by how often bytes came, and by when the first
// and the last did.
func delivery(pieces, reads int, first, last time.Duration) found {
	span := last - first
	switch {
	case pieces < manyPieces:
		return found{checks.Unknown, checks.StreamTooShort, "the stream had " + shorttext.Count(pieces, "piece") + ": too few to tell whether something holds streams back", ""}
	case span >= time.Duration(pieces)*perPiece:
		return found{checks.OK, "", fmt.Sprintf("the stream comes as it is made: %d pieces over %.1f s", pieces, span.Seconds()), ""}
	case first < longWait:
		return found{checks.Unknown, checks.StreamTooShort, fmt.Sprintf("the stream of %d pieces was over too soon to tell whether something holds it back", pieces), ""}
	}
	return found{
		checks.Finding, checks.StreamCollected,
		fmt.Sprintf("nothing came for %.1f s, then %d pieces at once: something between collects the stream", first.Seconds(), pieces),
		"switch off buffering and compression of responses in the proxy, such as nginx's proxy_buffering and gzip; the server can ask nginx for it with the header X-Accel-Buffering: no",
	}
}

// signsOfProxies are headers that proxies add to responses.
var signsOfProxies = []struct{ header, name string }{
	{"Via", "Via"}, {"Cf-Ray", "Cloudflare"}, {"X-Cache", "a cache"}, {"X-Amz-Cf-Id", "CloudFront"},
	{"X-Envoy-Upstream-Service-Time", "Envoy"}, {"X-Litellm-Model-Id", "LiteLLM"}, {"Sotto-Diagnostics", "Sotto"}, {"Sotto-History", "Sotto"}, {"Sotto-Thinking", "Sotto"},
}

// proxies are programs that the header Server names.
var proxies = []string{"nginx", "openresty", "caddy", "apache", "envoy", "traefik", "cloudflare", "haproxy", "litespeed"}

// between lists the proxies that headers of the replies show.
func between(all []*asked) []string {
	var list []string
	add := func(name string) {
		for _, n := range list {
			if n == name {
				return
			}
		}
		list = append(list, name)
	}
	for _, a := range all {
		h := a.response.Header
		for _, s := range signsOfProxies {
			switch v := h.Get(s.header); {
			case v == "":
			case s.name == s.header:
				add(s.header + ": " + shorttext.Ellipsis(v, 60))
			default:
				add(s.name)
			}
		}
		server := strings.ToLower(h.Get("Server"))
		for _, p := range proxies {
			if strings.HasPrefix(server, p) {
				add(p)
			}
		}
	}
	return list
}
