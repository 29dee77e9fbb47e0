package jsonedit

import "bytes"

// nonFinite are the non-finite numbers that some encoders write and JSON does not
// have.
var nonFinite = [][]byte{[]byte("NaN"), []byte("Infinity"), []byte("-Infinity")}

// Mend returns JSON without a byte order mark, and with null in place of NaN and
// the infinities.
func Mend(data []byte) []byte {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	var out []byte
	from := 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; c {
		case '"':
			end := StringEnd(data, i+1)
			if end < 0 {
				return data
			}
			i = end
		case 'N', 'I', '-':
			for _, s := range nonFinite {
				if bytes.HasPrefix(data[i:], s) {
					out = append(append(out, data[from:i]...), "null"...)
					from = i + len(s)
					i = from - 1
					break
				}
			}
		}
	}
	if out == nil {
		return data
	}
	return append(out, data[from:]...)
}
