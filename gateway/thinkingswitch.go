package gateway

import (
	"fmt"
	"net/http"

	"github.com/sotto-llm/sotto/gateway/internal/faults"
	"github.com/sotto-llm/sotto/internal/base/faultname"
	"github.com/sotto-llm/sotto/internal/data/chatjson"
	"github.com/sotto-llm/sotto/internal/data/jsonedit"
	"github.com/sotto-llm/sotto/wire/switches"
)

// translateSwitch writes how the request controls thinking in the words of the route's
// server. How replies begin is then learned by what the server got.
func (x *exchange) translateSwitch() error {
	words := x.route.ThinkingSwitch.In(x.codec.Name())
	if words == switches.Untouched || x.route.separated { // an agent has its own settings
		return nil
	}
	var r switches.Result
	var refused error
	err := x.charge.Use(int64(len(x.body)), func() error {
		r, refused = switches.Translate(x.codec.Name(), x.request.Prompt != "", x.body, x.route.ThinkingSwitch)
		return nil
	})
	switch {
	case err != nil:
		return err
	case refused != nil:
		return faults.New(faultname.ThinkingSwitchRefused, http.StatusBadRequest, fmt.Errorf("thinking-switch: %w", refused))
	case !r.Translated():
		return nil
	}
	if err := x.charge.Take(int64(len(r.Body))); err != nil {
		return err
	}
	x.body, x.switched, r.Body = r.Body, &r, nil
	x.request.Switch = chatjson.SwitchOf(jsonedit.Parse(x.body), x.request.Messages)
	return nil
}
