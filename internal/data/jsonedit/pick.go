package jsonedit

// Pick appends some members of an object, each with a comma before it. It is for the inside of
// another object.
func Pick(dst, object []byte, names ...string) []byte {
	root := Parse(object)
	for _, name := range names {
		if v := root.Get(name); v.Exists() {
			dst = append(append(append(dst, ',', '"'), name...), '"', ':')
			dst = append(dst, v.Raw...)
		}
	}
	return dst
}
