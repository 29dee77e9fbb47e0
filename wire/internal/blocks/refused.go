package blocks

import "bytes"

// RefusesProof reports whether the body of an error says that a thought's proof was refused: it is
// not the server's, it is missing, or its thought was changed. Bedrock and others pass Anthropic's
// message on in errors of their own.
func RefusesProof(body []byte) bool {
	said := bytes.ToLower(body)
	if !bytes.Contains(said, []byte("thinking")) {
		return false
	}
	for _, words := range []string{"signature", "invalid `data`", "cannot be modified"} {
		if bytes.Contains(said, []byte(words)) {
			return true
		}
	}
	return false
}
