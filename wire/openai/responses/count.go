package responses

import "strconv"

// Counted is the reply to a request that asks how many tokens another has.
func Counted(tokens int64) []byte {
	return append(strconv.AppendInt([]byte(`{"object":"response.input_tokens","input_tokens":`), tokens, 10), '}')
}
