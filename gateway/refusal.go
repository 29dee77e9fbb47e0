package gateway

import (
	"errors"
	"fmt"
	"net/http"

	wireshown "github.com/sotto-llm/sotto/wire/shown"
)

// maxError bounds the body of an upstream's error, where it is read.
const maxError = 1 << 20

// hideRefusal is used where reasoning is hidden. It keeps only the error itself in
// the body of an upstream's error, because some servers add what the model wrote. A
// body that is not an error in JSON is left out completely.
func (x *exchange) hideRefusal(resp *http.Response) error {
	if err := decompress(resp); err != nil {
		return err
	}
	body, err := x.charge.read(&moving{resp.Body, &x.activity, true}, maxError, min(resp.ContentLength, maxError))
	resp.Body.Close()
	var own *requestError
	switch {
	case errors.As(err, &own):
		return own
	case err != nil && !errors.Is(err, errLarge):
		return fmt.Errorf("the upstream's error broke off: %w", quiet(err))
	}
	said, ok := wireshown.Error(body)
	if !ok || err != nil {
		said = x.codec.Error(resp.StatusCode, "the upstream refused the request")
	}
	resp.Header.Set("Content-Type", "application/json")
	setBody(resp, said)
	return nil
}
