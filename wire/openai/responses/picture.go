package responses

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/internal/data/jsontext"
	"github.com/sotto-llm/sotto/internal/data/jsonwrite"
	"github.com/sotto-llm/sotto/wire"
	"github.com/sotto-llm/sotto/wire/turn"
)

// pictureItem is the type of an item that is a picture which the model had made.
const pictureItem = "image_generation_call"

// isPicture reports whether an item has the picture, or does not have it yet.
func isPicture(item gjson.Result) bool {
	_, ok := pictureOf(0, item)
	switch status := item.Get("status").Str; status {
	case "in_progress", "generating":
		return item.Get("result").Str == "" || ok
	}
	return ok
}

func pictureOf(number int, item gjson.Result) (wire.Event, bool) {
	if item.Get("type").Str != pictureItem {
		return wire.Event{}, false
	}
	return wire.Picture(0, number, "image/"+cmp.Or(item.Get("output_format").Str, "png"), item.Get("result").Str)
}

// picture reports the picture of an item that is complete.
func (y *reader) picture(item gjson.Result, number int) {
	if picture, ok := pictureOf(number, item); ok {
		y.r.Found(picture)
	}
}

// picture writes a picture of another API's reply as an item. The text so far is a message before it.
func (w *writer) picture(e *wire.Event) {
	if p := w.texts[e.Choice]; p != nil && p.item.ours {
		w.endItem(p.item, "completed")
	}
	it := w.mint(sealedItem, pictureID)
	it.picture = append(append([]byte(`,"output_format":"`), strings.TrimPrefix(e.Name, "image/")...), `","result":`...)
	it.picture = jsontext.AppendVerbatim(it.picture, e.Text)
	w.kept += len(it.picture)
	w.openItem(it)
	w.endItem(it, "completed")
}

// readPicture reads an item that is a picture in a request, which is kept as it came, too.
func readPicture(m *turn.Message, v gjson.Result, path string) bool {
	picture, ok := pictureOf(0, v)
	m.Parts = []turn.Part{{
		Kind: turn.Image, Name: pictureItem, Media: turn.Media{Type: picture.Name, Data: string(picture.Text)},
		Extra: turn.Extra{API: apiName, Path: path, Whole: v.Raw},
	}}
	return ok
}

// picture writes a picture of the model's as an item.
func (w *itemWriter) picture(p *turn.Part) error {
	if isWhole(p) {
		w.items.Raw(p.Extra.Whole)
		return nil
	}
	var o jsonwrite.Object
	o.Text("type", pictureItem)
	o.Text("id", pictureID+strconv.Itoa(w.made))
	w.made++
	o.Text("status", "completed")
	if format, ok := strings.CutPrefix(p.Media.Kind(), "image/"); ok {
		o.Text("output_format", format)
	}
	o.Text("result", p.Media.Data)
	w.items.Object(o)
	return nil
}
