package gateway_test

import (
	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto"
	"github.com/sotto-llm/sotto/gateway"
	"github.com/sotto-llm/sotto/wire"
)

// codecNamed is the codec of an API.
func codecNamed(name string) wire.Codec {
	for _, c := range gateway.Codecs() {
		if c.Name() == name {
			return c
		}
	}
	panic("no codec " + name)
}

var llamaReasons = map[sotto.Ending]string{sotto.EndStopped: `"eos"`, sotto.EndCut: `"limit"`, sotto.EndUnknown: `"none"`}

// llamaFrame is a frame of llama.cpp's server. The counts differ from frame to frame.
func llamaFrame(text string) string {
	return `data: {"index":0,"content":` + quoted(text) + `,"tokens":[42],"stop":false,"id_slot":-1,"tokens_predicted":7,"tokens_evaluated":5}` + "\n\n"
}

func llamaText(text, reason string) string {
	return `{"index":0,"content":` + quoted(text) + `,"tokens":[],"id_slot":0,"stop":true,"model":"m","tokens_predicted":9,"tokens_evaluated":5,` +
		`"generation_settings":{"n_predict":-1},"prompt":"2+2?","has_new_line":false,"truncated":false,"stop_type":` + reason +
		`,"stopping_word":"","tokens_cached":13,"timings":{"cache_n":2,"predicted_per_second":1.5}}`
}

// llamaSpeaker is llama.cpp's server, at a path.
func llamaSpeaker(name, path string) speaker {
	return speaker{
		codec: codecNamed(name), path: path, fields: []string{"reasoning_content"}, say: llamaFrame,
		finish: func(_ string, end sotto.Ending) string { return "data: " + llamaText("", llamaReasons[end]) + "\n\n" },
		whole:  func(text string, end sotto.Ending) string { return llamaText(text, llamaReasons[end]) },
		hear: func(root gjson.Result, h *heard) {
			for _, one := range root.Array() { // of one, it is that one
				hearObject(one, "content", "reasoning_content", h)
				h.done = h.done || one.Get("stop").Bool()
			}
		},
	}
}
