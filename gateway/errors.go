package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway/internal/bodies"
	"github.com/sotto-llm/sotto/gateway/internal/budget"
	"github.com/sotto-llm/sotto/gateway/internal/errortext"
	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/gateway/internal/reading"
	"github.com/sotto-llm/sotto/gateway/routing"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire"
	wireshown "github.com/sotto-llm/sotto/wire/shown"
)

// An upstream's error may quote what the model wrote. No API has a place for reasoning in
// an error, so a thought in one is removed under every display except keep.

// withoutCode returns the grammar of a dialect for the texts of errors where reasoning is
// hidden: an error puts what it quotes in quotes, which says nothing of the markers in it.
func withoutCode(d sotto.Dialect) *sotto.Grammar {
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
	if x.route.Display == routing.DisplayKeep || resp.Body == nil || resp.Body == http.NoBody {
		return nil
	}
	hide := x.route.Display == routing.DisplayHide
	instead := func(why string) error {
		resp.Header.Set("Content-Type", "application/json")
		resp.Header.Del("Content-Encoding")
		bodies.Replace(resp, x.codec.Error(resp.StatusCode, why))
		return nil
	}
	if err := bodies.Decompress(resp); err != nil {
		resp.Body.Close()
		return instead("the upstream's error cannot be read: it is compressed as " + bodies.EncodingName(resp.Header.Get("Content-Encoding")))
	}
	body, err := x.charge.Read(bodies.Watch(resp.Body, &x.Activity, true), bodies.MaxError, min(resp.ContentLength, bodies.MaxError))
	resp.Body.Close()
	var own *faults.Request
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, budget.ErrLarge) && hide:
		return instead("the upstream refused the request")
	case errors.Is(err, budget.ErrLarge):
		return instead(fmt.Sprintf("the upstream's error is larger than %d bytes, so it was not searched for reasoning; with the display keep it would pass", bodies.MaxError))
	case err != nil:
		return fmt.Errorf("the upstream's error broke off: %w", faults.Quiet(err))
	}
	left := body
	texts := x.errorTexts(hide)
	if err := x.charge.Use(budget.ParsedCost(body)+budget.ReadCost(jsonedit.StringOf(body)), func() error {
		left = texts.Body(body)
		return nil
	}); err != nil {
		return err
	}
	if texts.Found {
		x.reading.InError = true
		resp.Header.Set(diagnosticsHeader, reading.ReasoningInError)
	}
	if !hide {
		if texts.Found || resp.ContentLength < 0 {
			bodies.Replace(resp, left)
		} else {
			resp.Body = io.NopCloser(bytes.NewReader(body))
		}
		return nil
	}
	said, ok := wireshown.Error(left)
	if !ok {
		return instead("the upstream refused the request")
	}
	resp.Header.Set("Content-Type", "application/json")
	bodies.Replace(resp, said)
	return nil
}
