package openai

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/sotto-llm/sotto/wire"
)

// isPicture reports whether an element of the images of a message has the picture in it, and not only its
// address.
func isPicture(image gjson.Result) bool {
	_, ok := pictureOf(0, image)
	return ok
}

func pictureOf(choice int, image gjson.Result) (wire.Event, bool) {
	mediaType, data, _ := strings.Cut(strings.TrimPrefix(image.Get("image_url.url").Str, "data:"), ";base64,")
	return wire.Picture(choice, 0, mediaType, data)
}

// pictures reports the pictures of a message.
func pictures(choice int, message gjson.Result, r wire.Reader) {
	message.Get(images).ForEach(func(_, image gjson.Result) bool {
		if picture, ok := pictureOf(choice, image); ok {
			r.Found(picture)
		}
		return true
	})
}
