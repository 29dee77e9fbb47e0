package leak

import (
	"strings"

	"github.com/sotto-llm/sotto/internal/base/lazyregexp"
	"github.com/sotto-llm/sotto/internal/base/shorttext"
)

// Wordings with which a reply begins that may be a thought without tags. They are a hint for
// a reader of the report alone: an answer may begin so too, so no leak, no gate and no reading
// depends on them.
var (
	announced = lazyregexp.New(`^[\s#*_>]{0,8}(?i:(?:here(?:'s|’s| is| are) (?:my|the) |my )?(?:internal |private |step[- ]by[- ]step )?` +
		`(?:thinking|thoughts?|thought process|thinking process|reasoning|reasoning process|chain[- ]of[- ]thought|(?:inner |internal )monologue|scratch ?pad))[*_]{0,3}[ \t]{0,4}(?:[:：]|\n)`)
	considered = lazyregexp.New(`^\s{0,8}(?:(?i:okay|ok|alright|hmm|so|well|right|first)[,.…]{0,3} )?(?i:(?:so )?the user(?:'s|’s)? (?:is asking|asks|asked|wants|wanted|needs|says|said|sent|request|question|query|message)\b)`)
	elsewhere  = lazyregexp.New(`^[\s#*_>]{0,8}(?:(?:我的|以下是我的?)?(?:思考|推理|思维)(?:过程|链)?[*_]{0,3}[:：\n]|(?:好的|嗯|首先)?[,，]{0,1}用户(?:想|要|问|希望|询问|说|需要|让))`)
)

// mostHint is how much of a text is looked at for its wording, in bytes.
const mostHint = 200

// Hint returns the beginning of a text that may be a thought without tags, by its wording; ""
// if it does not look like one.
func Hint(text string) string {
	text = strings.ToValidUTF8(shorttext.Cut(text, mostHint), "")
	if announced.MatchString(text) || considered.MatchString(text) || elsewhere.MatchString(text) {
		return text
	}
	return ""
}
