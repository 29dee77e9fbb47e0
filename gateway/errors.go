package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/dialect"
	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/bridging"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/errortext"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	wireshown "github.com/sotto-llm/sotto/wire/shown"
	"github.com/sotto-llm/sotto/wire/written"
)

// An upstream's error may quote what the model wrote. No API has a place for reasoning in
// an error, so a thought in one is removed under every display except keep.

// withoutCode returns the grammar of a dialect for the texts of errors where reasoning is
// hidden: an error puts what it quotes in quotes, which says nothing of the markers in it.
func withoutCode(d dialect.Dialect) *sotto.Grammar {
	off := false
	d.Code = &off
	return sotto.MustCompile(d) // it was compiled before
}

// errorTexts returns the reader of the errors of a reply.
func (x *exchange) errorTexts(hide bool) *errortext.Reader {
	r := &errortext.Reader{Grammars: []*sotto.Grammar{x.family.grammar}, Inline: []sotto.Channel{sotto.ChannelTool}}
	if x.route.Narration != routing.NarrationDrop {
		r.Inline = append(r.Inline, sotto.ChannelNarration)
	}
	if hide {
		r.Grammars = []*sotto.Grammar{x.family.literal(), reading.LiteralDetails()}
	}
	return r
}

// readingErrors returns a reply whose errors are read before its codec sees them.
func (x *exchange) readingErrors(y wire.Reply) wire.Reply {
	if x.route.Display == routing.DisplayKeep {
		return y
	}
	return errortext.Reading(y, x.route.Display == routing.DisplayHide, x.errorTexts, &x.reading.InError)
}

// refused reads the body of an upstream's error. Where reasoning is hidden, only the error
// itself stays, because some servers add what the model wrote, and a body that is not an
// error in JSON is left out completely.
func (x *exchange) refused(resp *http.Response) error {
	if x.bridge == nil && (x.route.Display == routing.DisplayKeep || resp.Body == nil || resp.Body == http.NoBody) {
		return nil
	}
	r := refusal{exchange: x, resp: resp, hide: x.route.Display == routing.DisplayHide}
	if x.bridge != nil {
		resp.StatusCode, resp.Status = bridging.Status(resp.StatusCode), ""
	}
	body, why, err := r.read()
	if err != nil {
		return err
	}
	if why != "" {
		r.instead(faultname.UpstreamRefused, why)
		return nil
	}
	left, changed, err := r.strip(body)
	switch {
	case err != nil:
		return err
	case x.bridge != nil:
		r.translate(left)
	case r.hide:
		r.shorten(left)
	case changed || resp.ContentLength < 0:
		bodies.Replace(resp, left)
	default:
		resp.Body = io.NopCloser(bytes.NewReader(body))
	}
	return nil
}

// A refusal is an upstream's error on its way to the client.
type refusal struct {
	*exchange
	resp  *http.Response
	hide  bool
	fault wire.Fault
}

// instead gives the client an error with a text in place of the upstream's.
func (r *refusal) instead(name faultname.Name, text string) {
	c := r.clientCodec()
	faultname.Set(r.resp.Header, name)
	r.resp.Header.Set("Content-Type", "application/json")
	r.resp.Header.Del("Content-Encoding")
	if h, ok := c.(wire.ErrorHeader); ok && r.bridge != nil {
		r.resp.Header.Set(h.ErrorHeader(r.resp.StatusCode))
	}
	r.fault.Status, r.fault.Text = r.resp.StatusCode, text
	bodies.Replace(r.resp, wire.ErrorOf(c, &r.fault))
}

// read returns the upstream's body, or why the client does not get what it says.
func (r *refusal) read() (body []byte, why string, err error) {
	defer func() { r.resp.Body.Close() }() // which Decompress replaces
	if err := bodies.Decompress(r.resp); err != nil {
		return nil, "the upstream's error cannot be read: it is compressed as " + bodies.EncodingName(r.resp.Header.Get("Content-Encoding")), nil
	}
	body, err = r.charge.Read(bodies.Watch(r.resp.Body, &r.Activity, true), bodies.MaxError, min(r.resp.ContentLength, bodies.MaxError))
	var own *faults.Request
	switch {
	case errors.As(err, &own):
		return nil, "", own
	case errors.Is(err, budget.ErrLarge) && r.hide:
		return nil, unsaid, nil
	case errors.Is(err, budget.ErrLarge):
		return nil, fmt.Sprintf("the upstream's error is larger than %d bytes, so it was not searched for reasoning; with the display keep it would pass", bodies.MaxError), nil
	case err != nil:
		return nil, "", fmt.Errorf("the upstream's error broke off: %w", faults.Quiet(err))
	}
	return body, "", nil
}

// unsaid is the text of an error whose own text the client does not get.
const unsaid = "the upstream refused the request"

// strip returns an error without the reasoning that it quotes.
func (r *refusal) strip(body []byte) (left []byte, changed bool, err error) {
	left = body
	texts := r.errorTexts(r.hide)
	if err := r.charge.Use(budget.ParsedCost(body)+budget.ReadCost(jsonedit.StringOf(body)), func() error {
		left = texts.Body(body)
		return nil
	}); err != nil {
		return nil, false, err
	}
	if texts.Found {
		r.reading.InError = true
		r.resp.Header.Set(diagnosticsHeader, string(reading.ReasoningInError))
	}
	return left, texts.Found, nil
}

// translate gives the client an error of the upstream's in its own API.
func (r *refusal) translate(left []byte) {
	said, _ := wireshown.Error(left)
	if c, ok := r.codec.(wire.FaultCodec); ok && r.resp.StatusCode < 500 {
		_, r.fault.TooLong = c.FaultKind("", string(said))
	}
	name, text := nameOfFault(&r.fault), written.FaultText(string(said))
	if err := r.withoutReasoning(r.resp.StatusCode, left, text); err != nil {
		name, r.resp.StatusCode, text = faultname.ReasoningDemanded, http.StatusBadRequest, err.Error()
	}
	r.instead(name, text)
}

// shorten gives the client only what is known to say why.
func (r *refusal) shorten(left []byte) {
	said, ok := wireshown.Error(left)
	if !ok {
		r.instead(faultname.UpstreamRefused, unsaid)
		return
	}
	r.resp.Header.Set("Content-Type", "application/json")
	bodies.Replace(r.resp, said)
}
