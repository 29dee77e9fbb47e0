package bridging

import "github.com/sotto-llm/sotto/wire/turn"

// mediaBytes is how many bytes of text an image, a sound or a file counts as, because its bytes
// do not say how many tokens it has: about an image of middle size.
const mediaBytes = 4 << 10

// Size returns about how many bytes of text the model reads of a request.
func Size(q *turn.Request) int64 {
	n := 0
	for i := range q.Messages {
		n += parts(q.Messages[i].Parts)
	}
	for _, t := range q.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return int64(n + len(q.Format.Schema))
}

func parts(list []turn.Part) (n int) {
	for i := range list {
		switch p := &list[i]; p.Kind {
		case turn.Image, turn.Audio, turn.Video, turn.File:
			n += mediaBytes
		default:
			n += len(p.Text) + len(p.Name) + len(p.Arguments) + parts(p.Results)
		}
	}
	return n
}
